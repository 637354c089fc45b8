<?php

// hookwire, a host of hooks, is asked before an agent acts. One file without dependencies, for PHP 8.1 and later.
//
//     $hooks = new Hookwire\Hooks('hooks');
//     $verdict = $hooks->dispatch(['event' => 'PreToolUse', 'tool' => ['name' => 'Bash', 'input' => $input]]);
//     $input = $verdict->enforce(); // throws Denied, and Stopped if the run is over
//
// HookStack, at the end, is the same in the words of instructor-php.
//
// JSON objects are arrays here. Only an object that would come back as a JSON array (`{}`, `{"0": 1}`) is a stdClass.

declare(strict_types=1);

namespace Hookwire;

/** The version of the protocol. */
const VERSION = 1;

/** The host has ended, hangs, or can't be started. */
final class HostGone extends \RuntimeException
{
}

/** The host refused a request: JSON-RPC's code and message. */
final class RequestFailed extends \RuntimeException
{
    /** Whether the request is wrong by itself: another host would refuse it too. */
    public function isCallersFault(): bool
    {
        return -32602 <= $this->getCode() && $this->getCode() <= -32600;
    }
}

/** The act must not be done. */
class Denied extends \RuntimeException
{
    public function __construct(public readonly Verdict $verdict)
    {
        parent::__construct($verdict->reason() ?? 'a hook said no');
    }
}

/** The act must not be done, and the run is over. */
final class Stopped extends Denied
{
}

/** The client: keeps a host, sends it events, and answers what the host asks while it waits. */
final class Hooks
{
    /** Pauses before the next start of a host, in seconds, after so many starts that came to nothing. */
    private const PAUSES = [0, 0, 0.1, 0.5, 2, 5, 15, 30];

    private readonly float $deadline;
    private readonly string $session;
    private readonly \Closure $log;
    private ?Connection $host = null;
    /** @var array<string, array{array, callable}> */
    private array $callbacks = [];
    private int $inVain = 0;
    private float $pauseUntil = 0;
    private bool $isClosed = false;

    /**
     * The host starts with the first event. It ends with close(), with this object or with this process.
     *
     * @param string|list<string> $hooks directories of definitions
     * @param bool $live also the definitions of the project's .hookwire, in $root or the current directory
     * @param ?string $connect a host's socket, `unix:/path`, instead of a host of one's own
     * @param ?string $program the program to run, instead of the one that HOOKWIRE names or that is on PATH
     * @param list<string> $arguments more arguments for its `serve`
     * @param ?array<string, string> $env its environment, instead of this process's
     * @param string $fail what holds without a host: `closed` denies, `open` allows
     * @param ?float $deadline seconds for a verdict; by default 30, or 330 where a person may be asked
     * @param float $patience a host that has been silent for so many seconds when a deadline passes is replaced
     * @param list<string> $decisions what this agent can honour; any other decision becomes a deny
     * @param ?string $session with $agent, what sends the events, where an event doesn't say
     * @param ?\Closure $approve asks a person: gets the question, returns true, false or an ApprovalReply
     * @param ?\Closure $complete the agent's own model, for `prompt` and `agent` hooks
     * @param array<string, \Closure> $listen hears the host's notifications, such as hooks/failed
     * @param ?\Closure $log gets what went wrong; by default error_log
     */
    public function __construct(
        private readonly string|array $hooks = [],
        private readonly bool $live = false,
        private readonly ?string $root = null,
        private readonly ?string $connect = null,
        private readonly ?string $program = null,
        private readonly array $arguments = [],
        private readonly ?array $env = null,
        private readonly string $fail = 'closed',
        ?float $deadline = null,
        private readonly float $patience = 5.0,
        private readonly array $decisions = ['allow', 'deny', 'rewrite'],
        ?string $session = null,
        private readonly ?string $agent = null,
        private readonly ?\Closure $approve = null,
        private readonly ?\Closure $complete = null,
        private readonly array $listen = [],
        ?\Closure $log = null,
    ) {
        if ($fail !== 'closed' && $fail !== 'open') {
            throw new \ValueError("fail is 'closed' or 'open', not '$fail'");
        }
        if ($connect !== null && ($hooks || $live || $root || $program || $arguments || $env)) {
            throw new \ValueError('a host that runs already has its own definitions: connect takes no others');
        }
        $this->deadline = $deadline ?? ($approve ? 330.0 : 30.0);
        $this->session = $session ?? sprintf('%x-%x', getmypid(), hrtime(true));
        $this->log = $log ?? fn (string $text) => error_log($text);
    }

    public function __destruct()
    {
        $this->close();
    }

    /**
     * Makes a function a hook: it gets the event and returns an answer, or null for no opinion. The definition is
     * written as in a file: it has `name` and `on`, and may have `if`, `matcher`, `when`, `fail`, `priority` and others.
     */
    public function on(array $definition, callable $callback): static
    {
        $name = $definition['name'] ?? throw new \ValueError('a hook has a name');
        if (isset($this->callbacks[$name])) {
            throw new \ValueError("there is a hook $name already");
        }
        $hook = ['callback' => $name] + $definition;
        Json::write($hook); // what isn't JSON is the caller's mistake, here and not at the next event
        $this->callbacks[$name] = [$hook, $callback];
        if ($this->host?->isThere()) {
            try {
                $this->register($this->host, [$hook]);
            } catch (HostGone) {
                // The next host gets them all.
            }
        }
        return $this;
    }

    /**
     * Sends an event and waits for its verdict. Without a host, the verdict is what `fail` says. It throws RequestFailed if
     * the event itself is wrong.
     */
    public function dispatch(array $event): Verdict
    {
        return $this->begin($event)->wait();
    }

    /** Sends an event and doesn't wait for its verdict. */
    public function begin(array $event): Pending
    {
        $known = ['session' => $this->session, 'cwd' => getcwd() ?: '/'];
        if ($this->agent !== null) {
            $known['agent'] = ['name' => $this->agent];
        }
        $whole = $event + $known;
        return $this->ask($whole, $whole);
    }

    /** Sends an event in a dialect's words; the verdict's `reply` is in them too. */
    public function dispatchIn(string $dialect, array $payload): Verdict
    {
        return $this->ask(['dialect' => $dialect, 'payload' => $payload], $payload)->wait();
    }

    private function ask(array $sent, array $event): Pending
    {
        // The host answers a little before this client gives up.
        $pending = $this->send('hooks/dispatch', ['deadlineMs' => max(1, (int) ($this->deadline * 900))] + $sent);
        $pending->finish = function (mixed $result, ?\Throwable $problem) use ($event): Verdict {
            $message = is_array($result) ? $result['verdict'] ?? $result : [];
            if ($problem === null && is_string($message['decision'] ?? null)) {
                return new Verdict($message, $event, reply: $result['reply'] ?? null);
            }
            $problem ??= new HostGone("the host's reply is no verdict");
            if (!$problem instanceof HostGone && (!$problem instanceof RequestFailed || $problem->isCallersFault())) {
                throw $problem;
            }
            ($this->log)("hookwire gave no verdict: {$problem->getMessage()}");
            return Verdict::withoutHost($event, $this->fail, $problem->getMessage());
        };
        return $pending;
    }

    /** Any request of the protocol. Throws HostGone without a host, and RequestFailed if it refuses. */
    public function request(string $method, array $params = []): mixed
    {
        return $this->send($method, $params ?: new \stdClass())->wait();
    }

    private function send(string $method, mixed $params): Pending
    {
        try {
            $host = $this->host();
            $late = function () use ($host): HostGone {
                if ($host->silentFor() >= $this->patience) {
                    $host->end('the host hangs');
                }
                return new HostGone("no reply within $this->deadline s");
            };
            $pending = new Pending($host, microtime(true) + $this->deadline, $late);
            $pending->id = $host->request($method, $params, $pending->settle(...));
            return $pending;
        } catch (HostGone $gone) {
            return new Pending(null, 0, fn () => null, $gone);
        }
    }

    /** Starts the host now and not with the first event. Throws HostGone if there is none. */
    public function start(): void
    {
        $this->request('hooks/list');
    }

    /** Does what the host asks for, and takes its replies, for so many seconds at most: for event loops. */
    public function poll(float $seconds = 0): void
    {
        $this->host?->pump($seconds);
    }

    /** What poll() reads, for stream_select. Null without a host. */
    public function stream(): mixed
    {
        return $this->host?->isThere() ? $this->host->input : null;
    }

    public function close(): void
    {
        $this->isClosed = true;
        $this->host?->close();
    }

    private function host(): Connection
    {
        if ($this->isClosed) {
            throw new HostGone('the client is closed');
        }
        // A forked process leaves the host to its parent.
        if ($this->host && $this->host->owner !== getmypid()) {
            [$this->host, $this->inVain, $this->pauseUntil] = [null, 0, 0];
        }
        $this->host?->pump(0); // it may have ended meanwhile
        if ($this->host?->isThere()) {
            return $this->host;
        }
        if (microtime(true) < $this->pauseUntil) {
            throw new HostGone($this->host?->gone ?? 'no host could be started');
        }
        $this->pauseUntil = microtime(true) + self::PAUSES[min($this->inVain++, count(self::PAUSES) - 1)];
        return $this->host = $this->startHost();
    }

    private function startHost(): Connection
    {
        $command = null;
        if ($this->connect === null) {
            $command = [self::find($this->program ?? (getenv('HOOKWIRE') ?: 'hookwire')), 'serve'];
            foreach ((array) $this->hooks as $directory) {
                array_push($command, '--hooks', $directory);
            }
            array_push($command, ...($this->live ? ['--live'] : []));
            array_push($command, ...($this->root === null ? [] : ['--root', $this->root]), ...$this->arguments);
        }
        $host = new Connection($command, $this->connect, $this->env, $this->serve(...), $this->listen);
        $requests = array_keys(array_filter(['approval/request' => $this->approve, 'model/complete' => $this->complete]));
        $can = ['decisions' => $this->decisions, 'requests' => $requests, 'notifications' => array_keys($this->listen)];
        // Nothing waits for the replies: what is sent after them is judged after them.
        $host->request('initialize', ['capabilities' => ['hooks' => $can]], function (mixed $result) use ($host): void {
            $found = is_array($result) ? $result['protocolVersion'] ?? null : null;
            if ($found === VERSION) {
                $this->inVain = 0;
            } else {
                $host->end('the host speaks version ' . Json::write($found) . ' of the protocol, this client version ' . VERSION);
            }
        });
        if ($this->callbacks) {
            $this->register($host, array_column($this->callbacks, 0));
        }
        return $host;
    }

    private static function find(string $program): string
    {
        foreach (str_contains($program, '/') ? [''] : explode(':', getenv('PATH') ?: '') as $directory) {
            $path = ($directory === '' ? '' : "$directory/") . $program;
            if (is_file($path) && is_executable($path)) {
                return $path;
            }
        }
        throw new HostGone("no host: there is no program $program");
    }

    private function register(Connection $host, array $hooks): void
    {
        $names = implode(', ', array_column($hooks, 'name'));
        $host->request('hooks/register', ['hooks' => $hooks], function (mixed $result, ?\Throwable $problem) use ($host, $names): void {
            // A guard that isn't in force must not be taken for one that has no objection.
            if ($problem) {
                $host->end("the hooks $names could not be registered: {$problem->getMessage()}");
            }
            foreach ($result['diagnostics'] ?? [] as $remark) {
                ($this->log)('hook ' . ($remark['hook'] ?? $names) . ": {$remark['message']}");
            }
        });
    }

    private function serve(string $method, mixed $params): mixed
    {
        if ($method === 'hooks/invoke' && isset($this->callbacks[$params['callback'] ?? ''])) {
            return $this->callbacks[$params['callback']][1]($params['event']) ?? new \stdClass();
        }
        if ($method === 'approval/request' && $this->approve) {
            $said = ($this->approve)($params);
            return is_bool($said) ? ['decision' => $said ? 'approve' : 'deny'] : $said;
        }
        if ($method === 'model/complete' && $this->complete) {
            return ($this->complete)($params);
        }
        throw new RequestFailed("this client doesn't answer $method", -32601);
    }
}

/** An event that was sent, and whose verdict has not been waited for. */
final class Pending
{
    /** Makes what wait() returns of the result or the problem. */
    public ?\Closure $finish = null;
    public int $id = 0;
    private mixed $result = null;
    private bool $isDone;

    /** @internal */
    public function __construct(
        private readonly ?Connection $host,
        private readonly float $deadline,
        private readonly \Closure $late,
        private ?\Throwable $problem = null,
    ) {
        $this->isDone = $problem !== null;
    }

    /** @internal */
    public function settle(mixed $result, ?\Throwable $problem): void
    {
        [$this->isDone, $this->result, $this->problem] = [true, $result, $problem];
    }

    /** Whether wait() returns at once. */
    public function isDone(): bool
    {
        if (!$this->isDone && microtime(true) >= $this->deadline) {
            $this->host->cancel($this->id);
            $this->settle(null, ($this->late)());
        }
        return $this->isDone;
    }

    /** Gives the event up; its hooks are cancelled. Its verdict is a HostGone: nothing has allowed the act. */
    public function cancel(): void
    {
        if (!$this->isDone) {
            $this->host->cancel($this->id);
            [$this->finish, $this->problem, $this->isDone] = [null, new HostGone('the event was given up'), true];
        }
    }

    public function wait(): mixed
    {
        while (!$this->isDone()) {
            $this->host->pump(max(0, $this->deadline - microtime(true)));
        }
        if ($this->finish) {
            return ($this->finish)($this->result, $this->problem);
        }
        return $this->problem ? throw $this->problem : $this->result;
    }
}

/**
 * One host on the other end of two pipes or a socket, until it is gone.
 *
 * @internal
 */
final class Connection
{
    /** No message is longer; a verdict may hold a whole file. */
    private const LONGEST = 64 << 20;

    /** Why this host is gone; null while it is there. */
    public ?string $gone = null;
    public readonly int $owner;
    public mixed $input = null;
    private mixed $output = null;
    private mixed $process = null;
    private string $sending = '';
    private string $received = '';
    /** @var array<int, \Closure> */
    private array $pending = [];
    private int $lastId = 0;
    /** When a request was sent to which the host has given no sign of life. */
    private ?float $silentSince = null;

    public function __construct(
        ?array $command,
        ?string $path,
        ?array $env,
        private readonly \Closure $serve,
        private readonly array $listen,
    ) {
        $this->owner = getmypid();
        if ($path !== null) {
            $this->input = $this->output = @stream_socket_client('unix://' . preg_replace('/^unix:/', '', $path), $code, $why);
        } else {
            // stderr stays this process's own.
            $this->process = @proc_open($command, [['pipe', 'r'], ['pipe', 'w']], $pipes, null, $env);
            $why = error_get_last()['message'] ?? 'the program could not be started';
            [$this->output, $this->input] = $this->process ? $pipes : [false, false];
        }
        if (!$this->input) {
            throw new HostGone("no host: $why");
        }
        stream_set_blocking($this->input, false);
        stream_set_blocking($this->output, false);
        stream_set_read_buffer($this->input, 0);
        stream_set_write_buffer($this->output, 0);
    }

    public function isThere(): bool
    {
        return $this->gone === null;
    }

    public function silentFor(): float
    {
        return $this->silentSince === null ? 0 : microtime(true) - $this->silentSince;
    }

    /** `$take` gets the reply, before the next message is looked at. */
    public function request(string $method, mixed $params, \Closure $take): int
    {
        if ($this->gone !== null) {
            throw new HostGone($this->gone);
        }
        $id = $this->lastId + 1;
        $line = Json::write(['jsonrpc' => '2.0', 'id' => $id, 'method' => $method, 'params' => $params]);
        $this->lastId = $id;
        $this->pending[$id] = $take;
        $this->silentSince ??= microtime(true);
        $this->sending .= "$line\n";
        $this->pump(0);
        return $id;
    }

    /** Ends a request; its reply, if one still comes, is passed over. */
    public function cancel(int $id): void
    {
        if (isset($this->pending[$id])) {
            unset($this->pending[$id]);
            $this->sending .= Json::write(['jsonrpc' => '2.0', 'method' => '$/cancelRequest', 'params' => ['id' => $id]]) . "\n";
            $this->pump(0);
        }
    }

    /** Sends what there is to send and takes what has come, for so many seconds at most. */
    public function pump(float $seconds): void
    {
        do {
            if ($this->gone !== null) {
                return;
            }
            [$read, $write, $except] = [[$this->input], $this->sending === '' ? [] : [$this->output], []];
            $micros = (int) ($seconds * 1e6);
            // A signal ends the wait; whoever waits comes again.
            $ready = @stream_select($read, $write, $except, intdiv($micros, 1_000_000), $micros % 1_000_000);
            if ($ready && $write) {
                $written = @fwrite($this->output, substr($this->sending, 0, 1 << 16));
                if ($written === false) {
                    $this->end('the host has ended');
                    return;
                }
                $this->sending = substr($this->sending, $written);
            }
            if ($ready && $read) {
                $this->read();
                return;
            }
        } while ($ready && $this->sending !== '');
    }

    private function read(): void
    {
        $text = @fread($this->input, 1 << 16);
        if ($text === false || $text === '') {
            if ($text === false || feof($this->input)) {
                $this->end('the host has ended');
            }
            return;
        }
        $this->silentSince = null;
        $from = strlen($this->received);
        $this->received .= $text;
        try {
            while (($end = strpos($this->received, "\n", $from)) !== false) {
                $line = substr($this->received, 0, $end);
                [$this->received, $from] = [substr($this->received, $end + 1), 0];
                $this->take(Json::parse($line));
            }
        } catch (\JsonException) {
            $this->end('the host sent something unreadable');
        }
        if (strlen($this->received) > self::LONGEST) {
            $this->end('the host sent something unreadable');
        }
    }

    private function take(mixed $message): void
    {
        $id = is_array($message) ? $message['id'] ?? null : throw new \JsonException('no message');
        $method = $message['method'] ?? null;
        $params = $message['params'] ?? [];
        if (!is_string($method)) {
            $take = is_int($id) ? $this->pending[$id] ?? null : null;
            unset($this->pending[is_int($id) ? $id : 0]);
            $error = $message['error'] ?? null;
            $problem = $error ? new RequestFailed((string) ($error['message'] ?? ''), (int) ($error['code'] ?? 0)) : null;
            $take && $take($message['result'] ?? null, $problem);
        } elseif ($id === null) {
            // A function here can't be interrupted, so $/cancelRequest is passed over.
            isset($this->listen[$method]) && ($this->listen[$method])($params);
        } else {
            $this->sending .= $this->answer($id, $method, $params) . "\n";
            $this->pump(0);
        }
    }

    private function answer(mixed $id, string $method, mixed $params): string
    {
        try {
            return Json::write(['jsonrpc' => '2.0', 'id' => $id, 'result' => ($this->serve)($method, $params)]);
        } catch (\Throwable $problem) { // whatever a function throws is its failure, and no answer
            $code = $problem instanceof RequestFailed ? $problem->getCode() : -32000;
            $error = ['code' => $code, 'message' => $problem::class . ": {$problem->getMessage()}"];
            return Json::write(['jsonrpc' => '2.0', 'id' => $id, 'error' => $error], JSON_INVALID_UTF8_SUBSTITUTE);
        }
    }

    /** Lets the host end; after two seconds it is killed. */
    public function close(): void
    {
        if ($this->process && $this->owner === getmypid() && $this->gone === null) {
            for ($n = 0; $this->sending !== '' && $this->gone === null && $n < 20; $n++) {
                $this->pump(0.1);
            }
            @fclose($this->output);
            for ($until = microtime(true) + 2; $this->gone === null && microtime(true) < $until;) {
                $this->pump(0.1);
            }
        }
        $this->end('the client has closed');
    }

    /** The host is gone or has to go. What waits for it fails at once. */
    public function end(string $why): void
    {
        if ($this->gone !== null) {
            return;
        }
        [$this->gone, $this->sending, $pending, $this->pending] = [$why, '', $this->pending, []];
        foreach ([$this->input, $this->output] as $stream) {
            is_resource($stream) && fclose($stream);
        }
        if ($this->process && $this->owner === getmypid()) {
            proc_terminate($this->process, 9);
            proc_close($this->process);
        }
        foreach ($pending as $take) {
            $take(null, new HostGone($why));
        }
    }
}

/** The answer to one event. enforce() is how it is obeyed. */
final class Verdict
{
    /** The JSON pointer of each event's subject. Generated by clients/types. */
    public const SUBJECTS = [
        'MessageDisplay' => '/lastMessage',
        'PermissionRequest' => '/tool/input',
        'PostModelCall' => '/model/response',
        'PostToolUse' => '/tool/output',
        'PostToolUseFailure' => '/tool/output',
        'PreCompact' => '/compaction',
        'PreModelCall' => '/model/request',
        'PreSkillShellCommand' => '/tool/input',
        'PreToolUse' => '/tool/input',
        'RunEnd' => '/result',
        'RunError' => '/result',
        'RunStart' => '/prompt',
        'StepEnd' => '/lastMessage',
        'Stop' => '/lastMessage',
        'SubagentStart' => '/prompt',
        'SubagentStop' => '/lastMessage',
        'UserPromptExpansion' => '/prompt',
        'UserPromptSubmit' => '/prompt',
    ];

    /**
     * @param array $message the whole verdict, as the host sent it
     * @param ?string $failure why the host gave no verdict; then `fail` has decided
     * @param mixed $reply in the words of the event's dialect
     */
    public function __construct(
        public readonly array $message,
        public readonly array $event,
        public readonly ?string $failure = null,
        public readonly mixed $reply = null,
    ) {
    }

    /** @internal */
    public static function withoutHost(array $event, string $fail, string $failure): self
    {
        // A deny at Stop would send the agent back to work for as long as there is no host.
        $rests = in_array($event['event'] ?? null, ['Stop', 'SubagentStop'], true);
        $reason = "hookwire gave no verdict: $failure";
        $message = ['decision' => $fail === 'open' || $rests ? 'allow' : 'deny', 'reason' => $reason, 'errors' => [$reason]];
        return new self($message, $event, $failure);
    }

    /** `allow`, `ask`, `defer` or `deny`. */
    public function decision(): string
    {
        return $this->message['decision'];
    }

    public function allowed(): bool
    {
        return $this->decision() === 'allow' && !$this->stops();
    }

    public function reason(): ?string
    {
        return $this->message['stop'] ?? $this->message['reason'] ?? null;
    }

    /** The hook that decided; null where no hook had an opinion. */
    public function decidedBy(): ?string
    {
        return $this->message['decidedBy'] ?? null;
    }

    /** Whether the run is over. */
    public function stops(): bool
    {
        return isset($this->message['stop']);
    }

    public function rewritten(): bool
    {
        return array_key_exists('subject', $this->message);
    }

    /** The event's subject as it is to be used: as hooks rewrote it, else as it was. */
    public function value(): mixed
    {
        if ($this->rewritten()) {
            return $this->message['subject'];
        }
        $pointer = self::SUBJECTS[$this->event['event'] ?? ''] ?? null;
        $value = $pointer === null ? null : $this->event;
        foreach (array_slice(explode('/', (string) $pointer), 1) as $member) {
            $value = is_array($value) ? $value[$member] ?? null : null;
        }
        return $value;
    }

    /** For the person. */
    public function userMessages(): array
    {
        return $this->message['userMessages'] ?? [];
    }

    /** For the model. */
    public function additionalContext(): array
    {
        return $this->message['additionalContext'] ?? [];
    }

    /** The agent's state as `context`, a JSON merge patch, changes it. */
    public function patched(array $state): array
    {
        return isset($this->message['context']) ? self::merged($state, $this->message['context']) : $state;
    }

    private static function merged(mixed $target, mixed $patch): mixed
    {
        $isObject = fn (mixed $it) => $it instanceof \stdClass || is_array($it) && !array_is_list($it);
        if (!$isObject($patch)) {
            return $patch;
        }
        $result = $isObject($target) ? (array) $target : [];
        foreach ((array) $patch as $name => $value) {
            if ($value === null) {
                unset($result[$name]);
            } else {
                $result[$name] = self::merged($result[$name] ?? null, $value);
            }
        }
        return $result;
    }

    /**
     * Returns the subject as it is to be used. Throws Denied where the act must not be done, and Stopped where the run is
     * over too. A question that nobody answered is a deny.
     */
    public function enforce(): mixed
    {
        if ($this->stops()) {
            throw new Stopped($this);
        }
        return $this->decision() === 'allow' ? $this->value() : throw new Denied($this);
    }
}

/** @internal */
final class Json
{
    private const FLAGS = JSON_THROW_ON_ERROR | JSON_UNESCAPED_SLASHES | JSON_UNESCAPED_UNICODE | JSON_PRESERVE_ZERO_FRACTION;

    public static function write(mixed $value, int $flags = 0): string
    {
        return json_encode($value, self::FLAGS | $flags);
    }

    public static function parse(string $text): mixed
    {
        return self::arrays(json_decode($text, false, 512, JSON_THROW_ON_ERROR));
    }

    private static function arrays(mixed $value): mixed
    {
        if (!is_array($value) && !$value instanceof \stdClass) {
            return $value;
        }
        $items = array_map(self::arrays(...), (array) $value);
        return $value instanceof \stdClass && array_is_list($items) ? (object) $items : $items;
    }
}

// What follows has the names of instructor-php. Where its agents have a HookStack, this one asks hookwire.

enum HookTrigger: string
{
    case BeforeExecution = 'before_execution';
    case BeforeStep = 'before_step';
    case BeforeInferenceRequest = 'before_inference_request';
    case AfterInferenceResponse = 'after_inference_response';
    case BeforeToolUse = 'before_tool_use';
    case AfterToolUse = 'after_tool_use';
    case AfterStep = 'after_step';
    case OnStop = 'on_stop';
    case AfterExecution = 'after_execution';
    case OnError = 'on_error';
}

/** A context as JSON has it; docs/systems/instructor.md names its members. It is immutable. */
final class HookContext
{
    /** @param array<string, mixed> $members */
    public function __construct(public readonly array $members)
    {
    }

    public function triggerType(): HookTrigger
    {
        return HookTrigger::from($this->members['triggerType']);
    }

    public function state(): array
    {
        return (array) ($this->members['state'] ?? []);
    }

    public function toolCall(): ?array
    {
        return $this->members['toolCall'] ?? null;
    }

    public function toolExecution(): ?array
    {
        return $this->members['toolExecution'] ?? null;
    }

    public function errorList(): array
    {
        return $this->members['errorList'] ?? [];
    }

    public function hasErrors(): bool
    {
        return $this->errorList() !== [];
    }

    public function metadata(?string $key = null, mixed $default = null): mixed
    {
        $metadata = (array) ($this->members['metadata'] ?? []);
        return $key === null ? $metadata : (array_key_exists($key, $metadata) ? $metadata[$key] : $default);
    }

    public function isToolExecutionBlocked(): bool
    {
        return $this->members['isToolExecutionBlocked'] ?? false;
    }

    /** The stop signals of the state; the run ends if there is one. */
    public function stopSignals(): array
    {
        return $this->state()['stopSignals'] ?? [];
    }

    public function with(string $member, mixed $value): self
    {
        return new self([$member => $value] + $this->members);
    }

    public function withState(array $state): self
    {
        return $this->with('state', $state);
    }

    public function withToolCall(array $toolCall): self
    {
        return $this->with('toolCall', $toolCall);
    }

    public function withToolExecutionBlocked(string $message): self
    {
        return $this->with('toolExecution', ['error' => $message])->with('isToolExecutionBlocked', true);
    }
}

interface CanInterceptAgentLifecycle
{
    public function intercept(HookContext $context): HookContext;
}

/** Runs no hook. */
final class PassThroughInterceptor implements CanInterceptAgentLifecycle
{
    public function intercept(HookContext $context): HookContext
    {
        return $context;
    }
}

/** Hooks by priority, the highest first, together with those of the files. Each stack that is used has a host of its own. */
final class HookStack implements CanInterceptAgentLifecycle
{
    private const DIALECT = 'instructor';
    /** @var list<array{array, callable}> */
    private array $added = [];
    private ?Hooks $hooks = null;

    /** @param \Closure(): Hooks $client makes the stack's client, for instance `fn () => new Hooks('hooks')` */
    public function __construct(private readonly \Closure $client)
    {
    }

    public function __clone()
    {
        $this->hooks = null;
    }

    /** Another stack with one hook more, which gets a HookContext and returns one. */
    public function with(callable $hook, HookTrigger|array $triggers, int $priority = 0, ?string $name = null): static
    {
        $on = array_map(fn (HookTrigger $it) => $it->value, is_array($triggers) ? $triggers : [$triggers]);
        $name ??= 'hook-' . count($this->added);
        $definition = ['name' => $name, 'on' => $on, 'priority' => $priority, 'dialect' => self::DIALECT];
        $stack = clone $this;
        $stack->added[] = [$definition, fn (array $event) => $hook(new HookContext($event))->members];
        return $stack;
    }

    /**
     * Without a host, unless `fail` is `open`: a tool call is blocked, and before anything else the run is told to end by a
     * signal. After the fact the context stays as it is.
     */
    public function intercept(HookContext $context): HookContext
    {
        if ($this->hooks === null) {
            $this->hooks = ($this->client)();
            foreach ($this->added as [$definition, $callback]) {
                $this->hooks->on($definition, $callback);
            }
        }
        $verdict = $this->hooks->dispatchIn(self::DIALECT, $context->members);
        if (is_array($verdict->reply)) {
            return new HookContext($verdict->reply);
        }
        if ($verdict->allowed() || !str_starts_with($context->triggerType()->value, 'before_')) {
            return $context;
        }
        if ($context->triggerType() === HookTrigger::BeforeToolUse) {
            return $context->withToolExecutionBlocked($verdict->reason());
        }
        $signal = ['reason' => 'error', 'message' => $verdict->reason(), 'context' => new \stdClass(), 'source' => 'hookwire'];
        return $context->withState(['stopSignals' => [...$context->stopSignals(), $signal]] + $context->state());
    }
}
