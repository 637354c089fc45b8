// HookPipeline against a real host: mono Pipeline.exe DIR, where DIR is a directory that this makes its own.

using System;
using System.Collections.Generic;
using System.IO;
using System.Linq;
using System.Threading;
using System.Threading.Tasks;
using Hookwire;

sealed class ArgRewriteHook : IAgentHook
{
    public string Matcher => "PreToolCall:.*:run_query";

    public Task<HookResult> ExecuteAsync(AgentHookEvent hookEvent, HookContext context, CancellationToken ct) =>
        Task.FromResult(HookResult.ModifyResult(context.ToolArgs.Replace("*", "id"), "only the id"));
}

static class Pipeline
{
    static int failed;

    static void Check(string what, object expected, object found)
    {
        if (Equals(expected, found)) Console.WriteLine($"ok {what}");
        else Console.WriteLine($"FAILED {what}: {found} instead of {expected}");
        failed += Equals(expected, found) ? 0 : 1;
    }

    static HookResult Fire(HookPipeline pipeline, HookContext context, AgentHookEvent at = AgentHookEvent.PreToolCall) =>
        pipeline.FireAsync(at, context).GetAwaiter().GetResult();

    static HookContext Call(string tool, string arguments = "{}") =>
        new HookContext { StepName = "Agent", ToolName = tool, ToolArgs = arguments };

    static int Main(string[] arguments)
    {
        var directory = Path.Combine(arguments[0], "pipeline");
        Directory.CreateDirectory(directory);
        File.WriteAllText(Path.Combine(directory, "hooks.yaml"),
            "dialect: workflow-framework\nhooks: [{ name: no-deletion, matcher: 'PreToolCall:.*:delete_.*', deny: Deletion not allowed }]\n");
        var seen = new List<string>();
        var options = new HookOptions { Hooks = { directory }, Arguments = { "--isolated" }, Log = _ => { } };
        using (var hooks = new Hooks(options))
        {
            var pipeline = new HookPipeline(hooks)
                .Add(new CodeHook(context =>
                {
                    lock (seen) seen.Add($"{context.Event} {context.ToolName}");
                    return Task.FromResult(HookResult.AllowResult());
                }))
                .Add(new CodeHook(context => { throw new InvalidOperationException("broken"); }, "PreToolCall:.*:break"))
                .Add(new ArgRewriteHook());
            var denied = Fire(pipeline, Call("delete_x"));
            Check("a file's hook denies", "Deny: Deletion not allowed", $"{denied.Decision}: {denied.Reason}");
            var query = Call("run_query", "{\"sql\":\"SELECT * FROM users\"}");
            var modified = Fire(pipeline, query);
            Check("a rewrite", "Modify: {\"sql\":\"SELECT id FROM users\"}", $"{modified.Decision}: {modified.ModifiedArgs}");
            Check("a rewrite is in the context", modified.ModifiedArgs, query.ToolArgs);
            Check("a hook that throws denies", HookDecision.Deny, Fire(pipeline, Call("break")).Decision);
            Check("other tools are allowed", HookDecision.Allow, Fire(pipeline, Call("read")).Decision);
            Check("other events", HookDecision.Allow, Fire(pipeline, Call("read"), AgentHookEvent.PostToolCall).Decision);
            var expected = "PreToolCall run_query, PreToolCall break, PreToolCall read, PostToolCall read";
            Check("what a hook without a matcher saw", expected, string.Join(", ", seen));
            var all = Task.WhenAll(Enumerable.Range(0, 50).Select(n =>
                pipeline.FireAsync(AgentHookEvent.PreToolCall, Call(n % 2 == 0 ? "read" : "delete_x")))).Result;
            Check("many at once", 25, all.Count(it => it.Decision == HookDecision.Deny));
        }
        foreach (var failOpen in new[] { false, true })
        {
            var nobody = new HookOptions { Program = "/nonexistent/hookwire", FailOpen = failOpen, Log = _ => { } };
            using (var hooks = new Hooks(nobody))
            {
                var expected = failOpen ? HookDecision.Allow : HookDecision.Deny;
                Check($"without a host, {expected}", expected, Fire(new HookPipeline(hooks), Call("read")).Decision);
            }
        }
        return failed;
    }
}
