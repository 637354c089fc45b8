<?php

// HookStack against a real host: php stack.php DIR, where DIR is a directory that this makes its own.

declare(strict_types=1);

require __DIR__ . '/../hookwire.php';

use Hookwire\{CanInterceptAgentLifecycle, HookContext, Hooks, HookStack, HookTrigger, PassThroughInterceptor};

function check(string $what, mixed $expected, mixed $found): void
{
    static $failed = 0;
    if ($expected === $found) {
        echo "ok $what\n";
        return;
    }
    echo "FAILED $what: ", json_encode($found), ' instead of ', json_encode($expected), "\n";
    $failed++ || register_shutdown_function(fn () => exit(1));
}

function context(HookTrigger $trigger, array $members = []): HookContext
{
    $state = ['agentId' => 'a1', 'metadata' => new stdClass(), 'systemPrompt' => '', 'messages' => [], 'stepCount' => 1];
    $given = ['triggerType' => $trigger->value, 'state' => $state + ['stopSignals' => []], 'errorList' => []];
    return new HookContext($members + $given + ['metadata' => new stdClass(), 'isToolExecutionBlocked' => false]);
}

function call(string $name): HookContext
{
    return context(HookTrigger::BeforeToolUse, ['toolCall' => ['id' => 'c', 'name' => $name, 'arguments' => new stdClass()]]);
}

$directory = "$argv[1]/stack";
mkdir($directory);
file_put_contents("$directory/hooks.yaml", "dialect: instructor\nuseGuards: { maxSteps: 5, maxTokens: null, maxExecutionTime: null }\n");
$seen = [];
$client = fn () => new Hooks($directory, arguments: ['--isolated'], log: fn (string $text) => null);
$stack = (new HookStack($client))
    ->with(function (HookContext $context) use (&$seen): HookContext {
        $seen[] = $context->toolCall()['name'] . ($context->isToolExecutionBlocked() ? ' blocked' : '');
        return $context;
    }, HookTrigger::BeforeToolUse, priority: -1)
    ->with(function (HookContext $context): HookContext {
        $name = $context->toolCall()['name'];
        return match ($name) {
            'rm_rf' => $context->withToolExecutionBlocked('Not permitted here.'),
            'read' => $context->withToolCall(['name' => 'read_file'] + $context->toolCall()),
            'break' => throw new Exception('broken'),
            default => $context,
        };
    }, [HookTrigger::BeforeToolUse], priority: 200, name: 'block_dangerous_tools');
check('a stack is an interceptor', true, $stack instanceof CanInterceptAgentLifecycle);
$blocked = $stack->intercept(call('rm_rf'));
check('a blocked tool', [true, 'Not permitted here.'], [$blocked->isToolExecutionBlocked(), $blocked->toolExecution()['error'] ?? null]);
check('a changed call', 'read_file', $stack->intercept(call('read'))->toolCall()['name']);
check('a hook that throws blocks', true, $stack->intercept(call('break'))->isToolExecutionBlocked());
$plain = call('write');
// A host gives members back in alphabetical order.
check('what no hook changes stays', true, $plain->members['toolCall'] == $stack->intercept($plain)->members['toolCall']);
check('lower hooks see what higher ones made', ['rm_rf blocked', 'read_file', 'break blocked', 'write'], $seen);
$step = context(HookTrigger::BeforeStep);
check('below the limit', [], $stack->intercept($step)->stopSignals());
$late = $stack->intercept($step->withState(['stepCount' => 5] + $step->state()));
check('a guard of a file', 'steps_limit', $late->stopSignals()[0]['reason'] ?? null);

$without = fn (string $fail) => new HookStack(fn () => new Hooks(program: '/nonexistent', fail: $fail, log: fn (string $text) => null));
check('without a host a tool is blocked', true, $without('closed')->intercept(call('read'))->isToolExecutionBlocked());
check('without a host a step is the last', 'error', $without('closed')->intercept($step)->stopSignals()[0]['reason'] ?? null);
check('afterwards nothing is changed', false, $without('closed')->intercept(context(HookTrigger::AfterToolUse))->isToolExecutionBlocked());
check('without a host, open', false, $without('open')->intercept(call('read'))->isToolExecutionBlocked());
check('no hooks', $step, (new PassThroughInterceptor())->intercept($step));
