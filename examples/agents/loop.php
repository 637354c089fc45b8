<?php

// An agent loop that sends every event to hookwire and obeys the verdicts: php loop.php --hooks DIR
// The class Agent is to adapt, Hooked to copy unchanged, and what comes after it to replace.

declare(strict_types=1);

require __DIR__ . '/../../clients/php/hookwire.php';

use Hookwire\{Hooks, Json, Verdict};

/** A hook's refusal. It is an answer, so nothing here treats it as a failure. */
final class Refused extends Exception
{
}

final class Agent extends Hooked
{
    public function session(): void
    {
        $this->fire('SessionStart');
        foreach (World::prompts($this) as $prompt) {
            $answer = World::show(World::tried(fn () => $this->run($prompt))['output']); // or why there is none
            $this->fire('Notification', ['message' => $answer]);
        }
        $this->fire('SessionEnd');
    }

    /** Works on one prompt until the agent stops. Every started run ends with RunEnd or RunError. */
    public function run(string $prompt): string
    {
        $prompt = $this->fire($this->parent ? 'SubagentStart' : 'UserPromptSubmit', ['prompt' => $prompt])['prompt'];
        $prompt = $this->fire('RunStart', ['prompt' => $prompt])['prompt'];
        $this->context['messages'][] = ['role' => 'user', 'content' => $prompt];
        try {
            $result = $this->work();
        } catch (Refused $no) { // a refusal is an answer, not a failure
            $result = $no->getMessage();
        } catch (Exception $error) {
            $verdict = $this->fire('RunError', ['error' => $error->getMessage(), 'usage' => $this->usage]);
            return $verdict['subject'] ?? throw $error; // a hook's result replaces the error
        }
        return $this->fire('RunEnd', ['result' => $result, 'usage' => $this->usage])['result'];
    }

    private function work(): string
    {
        [$rest, $stopActive] = [$this->parent ? 'SubagentStop' : 'Stop', false];
        while (true) {
            $this->fire('StepStart');
            // Between steps every tool call has its result, so here the conversation can be changed.
            if ($this->tokens > World::BUDGET) {
                $this->compact();
            }
            $this->addNotes();
            $reply = $this->ask($this->context['messages']);
            $results = array_map($this->tool(...), $reply['calls']);
            $reply['content'] = $this->fire('StepEnd', ['lastMessage' => $reply['content']])['lastMessage'];
            array_push($this->context['messages'], ['role' => 'assistant'] + $reply, ...$results);
            $this->fire('Checkpoint', ['path' => World::save($this)]);
            if ($reply['calls']) {
                continue;
            }
            try {
                return $this->fire($rest, ['lastMessage' => $reply['content'], 'stopActive' => $stopActive])['lastMessage'];
            } catch (Refused $no) { // back to work, with the reason; hookwire limits how often hooks do this
                $this->notes[] = $no->getMessage();
                $stopActive = true;
            }
        }
    }

    /** Asks the model. Each attempt fires PreModelCall again, because the model may be another one. */
    private function ask(array $messages, string $name = 'large', int $attempt = 1): array
    {
        $request = ['systemPrompt' => $this->context['systemPrompt'], 'messages' => $messages];
        $model = $this->fire('PreModelCall', ['model' => ['name' => $name, 'request' => $request]])['model'];
        try {
            $reply = World::callModel($model);
            $this->count($reply['usage']);
            return $this->fire('PostModelCall', ['model' => $reply + $model])['model']['response'];
        } catch (ModelError $error) {
            $failed = ['error' => $error->failure, 'attempt' => $attempt] + $model;
            $retry = $this->fire('ModelCallError', ['model' => $failed])['retry'] ?? null;
            if (!World::waited($retry, $attempt)) {
                throw $error;
            }
            return $this->ask($messages, $retry['model'] ?? $name, $attempt + 1);
        }
    }

    /** Runs a tool call, if permitted, and returns the model's message with the output or the refusal. */
    private function tool(array $call): array
    {
        try {
            $tool = $this->permitted($call);
            $isTask = $tool['name'] === 'Task' && !$this->parent;
            $done = World::tried(fn () => $isTask ? $this->task($tool) : World::use($tool));
            $event = isset($done['error']) ? 'PostToolUseFailure' : 'PostToolUse';
            $output = $this->fire($event, ['tool' => $done + $tool])['tool']['output'];
        } catch (Refused $no) {
            $output = "refused: {$no->getMessage()}";
        }
        $content = World::show($this->name, $call['name'], $output);
        return ['role' => 'tool', 'callId' => $call['callId'], 'content' => $content];
    }

    private function permitted(array $call): array
    {
        $moment = $this->fire('PreToolUse', ['tool' => $call]);
        // An allow is a permission only if a hook decided it; otherwise no hook had an opinion.
        if (in_array($moment['tool']['name'], World::ALLOWED, true) || isset($moment['decidedBy'])) {
            return $moment['tool'];
        }
        try {
            return $this->fire('PermissionRequest', ['tool' => $moment['tool']])['tool'];
        } catch (Refused $no) {
            $this->fire('PermissionDenied', ['tool' => $moment['tool'], 'reason' => $no->getMessage()]);
            throw $no;
        }
    }

    private function task(array $tool): string
    {
        $child = new Agent($this->hooks, $tool['input']['agent'], "$this->runId.{$tool['callId']}", $this);
        return $child->run($tool['input']['prompt']);
    }

    /** Replaces the conversation by a summary. */
    private function compact(): void
    {
        $messages = $this->context['messages'];
        try {
            $given = ['compaction' => World::SUMMARISE, 'messages' => $messages, 'budget' => World::BUDGET];
            $asked = ['role' => 'user', 'content' => $this->fire('PreCompact', $given)['compaction']];
            $summary = $this->ask([...$messages, $asked])['content'];
        } catch (Refused) {
            return; // the conversation isn't compacted
        }
        $this->context['messages'] = [['role' => 'user', 'content' => $summary]];
        $this->fire('PostCompact', ['removedCount' => count($messages), 'summary' => $summary]);
    }
}

/** An agent's state that hooks see and may change. */
abstract class Hooked
{
    /** A run that a hook has ended starts none of these. */
    private const ACTS = ['StepStart', 'PreCompact', 'PreModelCall', 'PreToolUse', 'PermissionRequest', 'SubagentStop', 'Stop'];
    /** These events only inform hooks; they can't be refused. */
    private const NOTES = ['PermissionDenied', 'PostCompact', 'Checkpoint', 'Notification', 'SessionEnd'];

    /** Why there was once no verdict. */
    public static ?string $problem = null;
    public array $context;
    /** Messages of hooks to the model. */
    protected array $notes = [];
    /** Read by the model in its last call. */
    protected int $tokens = 0;
    public int $step = 0;
    protected array $usage = ['inputTokens' => 0, 'outputTokens' => 0];
    private ?string $ending = null;

    public function __construct(
        protected readonly Hooks $hooks,
        public readonly string $name,
        public ?string $runId = null,
        protected readonly ?Hooked $parent = null,
    ) {
        $this->context = ['metadata' => new stdClass(), 'systemPrompt' => "You are $name.", 'messages' => []];
    }

    public function begin(?string $run): void
    {
        [$this->runId, $this->step, $this->ending] = [$run, 0, null];
        $this->usage = ['inputTokens' => 0, 'outputTokens' => 0];
    }

    protected function addNotes(): void
    {
        foreach ($this->notes as $note) {
            $this->context['messages'][] = ['role' => 'user', 'content' => $note];
        }
        $this->notes = [];
    }

    protected function count(array $usage): void
    {
        $this->tokens = $usage['inputTokens'];
        foreach ($this->usage as $kind => $tokens) {
            $this->usage[$kind] = $tokens + $usage[$kind];
        }
    }

    /** Sends an event; returns the verdict with `data` as hooks changed it. A refusal is Refused. */
    protected function fire(string $event, array $data = []): array
    {
        if ($this->ending !== null && in_array($event, self::ACTS, true)) {
            throw new Refused($this->ending);
        }
        $this->step += (int) ($event === 'StepStart');
        $about = ['event' => $event, 'session' => 's' . getmypid(), 'run' => $this->runId];
        $about += ['parentRun' => $this->parent?->runId, 'step' => $this->step ?: null];
        $about += ['agent' => ['name' => $this->name, 'parent' => $this->parent?->name]];
        $verdict = $this->hooks->dispatch($data + $about + ['metadata' => $this->context['metadata']]);
        self::$problem ??= $verdict->failure;
        foreach ($verdict->userMessages() as $text) {
            echo "[hook] $text\n";
        }
        array_push($this->notes, ...$verdict->additionalContext());
        $patched = $verdict->patched($data + $this->context);
        $empty = ['metadata' => new stdClass(), 'systemPrompt' => '', 'messages' => []];
        $this->context = array_intersect_key($patched, $empty) + $empty;
        if ($verdict->stops()) { // refuses this act and whatever the run would do next
            $this->ending = $verdict->reason();
        }
        if (!$verdict->allowed() && !in_array($event, self::NOTES, true)) {
            throw new Refused($verdict->reason() ?? 'a hook said no');
        }
        if ($event === 'PermissionRequest' && $verdict->decidedBy() === null) {
            throw new Refused('nobody has allowed it'); // where your agent would ask its user
        }
        $left = array_intersect_key($patched, $data);
        if ($verdict->rewritten()) {
            [, $member, $inner] = explode('/', Verdict::SUBJECTS[$event] . '/');
            $left[$member] = $inner ? [$inner => $verdict->value()] + $left[$member] : $verdict->value();
        }
        return $left + $verdict->message;
    }
}

// The loop's surroundings: a scripted model, tools that change real files, a terminal.

final class ModelError extends Exception
{
    public function __construct(public readonly array $failure)
    {
        parent::__construct("{$failure['status']} {$failure['message']}");
    }
}

final class World
{
    /** Other tools need a permission. */
    public const ALLOWED = ['Read', 'Write', 'Task'];
    /** Tokens that the model may read before its context is compacted. */
    public const BUDGET = 1000;
    public const SUMMARISE = 'Summarise this conversation so that the work can go on from your summary alone.';
    /** At one model call, whatever hooks say. */
    private const ATTEMPTS = 5;
    private static array $session;

    /** The user's prompts; each begins a new run. */
    public static function prompts(Agent $agent): Generator
    {
        self::$session = Json::parse(file_get_contents(__DIR__ . '/session.json'));
        foreach (self::$session['prompts'] as $n => $prompt) {
            $agent->begin('r' . $n + 1);
            echo "> $prompt\n";
            yield $prompt;
        }
        $agent->begin(null);
    }

    /** Returns the script's next reply; yours would call a provider. */
    public static function callModel(array $model): array
    {
        $over = ['error' => ['status' => 500, 'message' => 'the script is over']];
        $said = array_shift(self::$session['replies']) ?? $over;
        if (isset($said['error'])) {
            throw new ModelError($said['error']);
        }
        $response = ['content' => $said['content'] ?? '', 'calls' => $said['calls'] ?? []];
        return ['response' => $response, 'usage' => $said['usage'], 'finishReason' => $said['finishReason'] ?? 'stop'];
    }

    /** Waits as long as hooks ask for; returns whether to try again. */
    public static function waited(?array $retry, int $attempt): bool
    {
        if ($retry === null || $retry['action'] === 'fail' || $attempt === self::ATTEMPTS) {
            return false;
        }
        usleep(($retry['afterMs'] ?? 0) * 1000);
        return true;
    }

    public static function use(array $tool): string
    {
        $path = $tool['input']['path'];
        $done = match ($tool['name']) {
            'Read' => @file_get_contents($path),
            'Write' => @file_put_contents($path, $tool['input']['content']) === false ? false : 'written',
            'Delete' => @unlink($path) ? 'deleted' : false,
        };
        return $done !== false ? $done : throw new Exception(error_get_last()['message']);
    }

    /** Runs an act; returns its output or error, and how long it took. */
    public static function tried(Closure $act): array
    {
        $started = microtime(true);
        try {
            $outcome = ['output' => $act()];
        } catch (Exception $error) {
            $told = ($error instanceof Refused ? 'refused' : 'failed') . ": {$error->getMessage()}";
            $outcome = ['error' => $error->getMessage(), 'output' => $told];
        }
        return $outcome + ['durationMs' => (microtime(true) - $started) * 1000];
    }

    public static function save(Hooked $agent): string
    {
        $path = "checkpoint-$agent->name.json";
        file_put_contents($path, Json::write(['run' => $agent->runId, 'step' => $agent->step] + $agent->context));
        return $path;
    }

    /** Prints a line and returns its last part. */
    public static function show(string ...$words): string
    {
        echo implode(': ', array_map('trim', $words)), "\n";
        return end($words);
    }
}

$patience = (float) (getenv('PATIENCE') ?: 5); // seconds for a verdict
$silent = fn (string $text) => null;
$hooks = new Hooks(arguments: array_slice($argv, 1), deadline: $patience, patience: $patience / 2, log: $silent);
try {
    (new Agent($hooks, 'coder'))->session();
} catch (Refused $no) {
    World::show("refused: {$no->getMessage()}");
}
$hooks->close();
if (Hooked::$problem !== null) {
    fwrite(STDERR, 'hookwire gave no verdict: ' . Hooked::$problem . "\n");
    exit(1);
}
