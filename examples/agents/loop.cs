// An agent loop that sends every event to hookwire and obeys the verdicts: mono loop.exe --hooks DIR
// The class Agent is to adapt, Hooked to copy unchanged, and what comes after it to replace.

using System;
using System.Collections.Generic;
using System.Diagnostics;
using System.Globalization;
using System.IO;
using System.Linq;
using System.Threading.Tasks;
using Hookwire;

/// <summary>A hook's refusal. It is an answer, so nothing here treats it as a failure.</summary>
sealed class Refused : Exception
{
    public Refused(string reason) : base(reason) { }
}

sealed class Agent : Hooked
{
    public Agent(Hooks hooks, string name, string run = null, Hooked parent = null) : base(hooks, name, run, parent) { }

    public async Task Session()
    {
        await Fire("SessionStart", new Members());
        foreach (var prompt in World.Prompts(this))
        {
            var done = await World.Tried(() => Run(prompt)); // its output, or why there is none
            await Fire("Notification", new Members { ["message"] = World.Show(done.Get<string>("output")) });
        }
        await Fire("SessionEnd", new Members());
    }

    /// <summary>Works on one prompt until the agent stops. Every started run ends with RunEnd or RunError.</summary>
    public async Task<string> Run(string prompt)
    {
        foreach (var name in new[] { Parent == null ? "UserPromptSubmit" : "SubagentStart", "RunStart" })
            prompt = (await Fire(name, new Members { ["prompt"] = prompt })).Data.Get<string>("prompt");
        Messages.Add(new Members { ["role"] = "user", ["content"] = prompt });
        string result;
        try
        {
            result = await Work();
        }
        catch (Refused no)
        {
            result = no.Message; // a refusal is an answer, not a failure
        }
        catch (Exception error)
        {
            var moment = await Fire("RunError", new Members { ["error"] = error.Message, ["usage"] = Usage });
            if (moment.Data.Get<string>("result") == null) throw;
            return moment.Data.Get<string>("result"); // a hook's result replaces the error
        }
        return (await Fire("RunEnd", new Members { ["result"] = result, ["usage"] = Usage })).Data.Get<string>("result");
    }

    async Task<string> Work()
    {
        for (var stopActive = false; ;)
        {
            await Fire("StepStart", new Members());
            // Between steps every tool call has its result, so here the conversation can be changed.
            if (Tokens > World.Budget) await Compact();
            AddNotes();
            var reply = await Ask(Messages);
            var calls = reply.Get<List<object>>("calls");
            var results = new List<object>();
            foreach (Members call in calls) results.Add(await Tool(call));
            var last = (await Fire("StepEnd", new Members { ["lastMessage"] = reply["content"] })).Data["lastMessage"];
            Messages.Add(new Members(reply) { ["role"] = "assistant", ["content"] = last });
            Messages.AddRange(results);
            await Fire("Checkpoint", new Members { ["path"] = World.Save(this) });
            if (calls.Count > 0) continue;
            try
            {
                var rest = new Members { ["lastMessage"] = last, ["stopActive"] = stopActive };
                return (await Fire(Parent == null ? "Stop" : "SubagentStop", rest)).Data.Get<string>("lastMessage");
            }
            catch (Refused no)
            {
                Notes.Add(no.Message); // back to work, with the reason; hookwire limits how often hooks do this
                stopActive = true;
            }
        }
    }

    /// <summary>Asks the model. Each attempt fires PreModelCall again, because the model may be another one.</summary>
    async Task<Members> Ask(List<object> messages, string name = "large", int attempt = 1)
    {
        var request = new Members { ["systemPrompt"] = Context["systemPrompt"], ["messages"] = messages };
        var asked = new Members { ["name"] = name, ["request"] = request };
        var model = (await Fire("PreModelCall", new Members { ["model"] = asked })).Data.Get<Members>("model");
        try
        {
            var reply = World.CallModel(model);
            Count(reply.Get<Members>("usage"));
            foreach (var member in model) reply[member.Key] = member.Value;
            var moment = await Fire("PostModelCall", new Members { ["model"] = reply });
            return moment.Data.Get<Members>("model").Get<Members>("response");
        }
        catch (ModelError error)
        {
            var failed = new Members(model) { ["error"] = error.Failure, ["attempt"] = attempt };
            var retry = (await Fire("ModelCallError", new Members { ["model"] = failed })).Verdict.Retry;
            if (!await World.Waited(retry, attempt)) throw;
            return await Ask(messages, retry.Get<string>("model") ?? name, attempt + 1);
        }
    }

    /// <summary>Runs a tool call, if permitted, and returns the model's message with the output or the refusal.</summary>
    async Task<Members> Tool(Members call)
    {
        string output;
        try
        {
            var tool = await Permitted(call);
            var isTask = tool.Get<string>("name") == "Task" && Parent == null;
            var done = await World.Tried(() => isTask ? Start(tool) : Task.FromResult(World.Use(tool)));
            foreach (var member in tool) done[member.Key] = member.Value;
            var name = done.ContainsKey("error") ? "PostToolUseFailure" : "PostToolUse";
            output = (await Fire(name, new Members { ["tool"] = done })).Data.Get<Members>("tool").Get<string>("output");
        }
        catch (Refused no)
        {
            output = $"refused: {no.Message}";
        }
        var content = World.Show(Name, call.Get<string>("name"), output);
        return new Members { ["role"] = "tool", ["callId"] = call["callId"], ["content"] = content };
    }

    async Task<Members> Permitted(Members call)
    {
        var moment = await Fire("PreToolUse", new Members { ["tool"] = call });
        var tool = moment.Data.Get<Members>("tool");
        // An allow is a permission only if a hook decided it; otherwise no hook had an opinion.
        if (World.Allowed.Contains(tool.Get<string>("name")) || moment.Verdict.DecidedBy != null) return tool;
        try
        {
            return (await Fire("PermissionRequest", new Members { ["tool"] = tool })).Data.Get<Members>("tool");
        }
        catch (Refused no)
        {
            await Fire("PermissionDenied", new Members { ["tool"] = tool, ["reason"] = no.Message });
            throw;
        }
    }

    Task<string> Start(Members tool)
    {
        var input = tool.Get<Members>("input");
        var child = new Agent(Hooks, input.Get<string>("agent"), $"{RunId}.{tool["callId"]}", this);
        return child.Run(input.Get<string>("prompt"));
    }

    /// <summary>Replaces the conversation by a summary, if that isn't refused.</summary>
    async Task Compact()
    {
        var old = Messages;
        try
        {
            var told = new Members { ["compaction"] = World.Summarise, ["messages"] = old, ["budget"] = World.Budget };
            var asked = (await Fire("PreCompact", told)).Data["compaction"];
            var summary = (await Ask(old.Append(new Members { ["role"] = "user", ["content"] = asked }).ToList()))["content"];
            Context["messages"] = new List<object> { new Members { ["role"] = "user", ["content"] = summary } };
            await Fire("PostCompact", new Members { ["removedCount"] = old.Count, ["summary"] = summary });
        }
        catch (Refused) { }
    }
}

/// <summary>A verdict, and the event's data as hooks changed it.</summary>
struct Moment
{
    public Verdict Verdict;
    public Members Data;
}

/// <summary>An agent's state that hooks see and may change.</summary>
abstract class Hooked
{
    // A run that a hook has ended starts none of these.
    static readonly string[] Acts =
        { "StepStart", "PreCompact", "PreModelCall", "PreToolUse", "PermissionRequest", "SubagentStop", "Stop" };
    // These events only inform hooks; they can't be refused.
    static readonly string[] Informing = { "PermissionDenied", "PostCompact", "Checkpoint", "Notification", "SessionEnd" };

    /// <summary>Why there was once no verdict.</summary>
    public static string Problem;

    protected readonly Hooks Hooks;
    protected readonly Hooked Parent;
    public readonly string Name;
    public Members Context;
    public string RunId;
    public long Step;
    protected readonly List<string> Notes = new List<string>(); // messages of hooks to the model
    protected long Tokens; // read by the model in its last call
    protected Members Usage;
    string ending;

    protected Hooked(Hooks hooks, string name, string run, Hooked parent)
    {
        Hooks = hooks;
        Name = name;
        Parent = parent;
        Context = new Members { ["systemPrompt"] = $"You are {name}.", ["metadata"] = new Members(), ["messages"] = new List<object>() };
        Begin(run);
    }

    public void Begin(string run)
    {
        RunId = run;
        Step = 0;
        ending = null;
        Usage = new Members { ["inputTokens"] = 0L, ["outputTokens"] = 0L };
    }

    protected List<object> Messages => Context.Get<List<object>>("messages");

    protected void AddNotes()
    {
        Messages.AddRange(Notes.Select(note => new Members { ["role"] = "user", ["content"] = note }));
        Notes.Clear();
    }

    protected void Count(Members usage)
    {
        Tokens = usage.Get<long>("inputTokens");
        foreach (var kind in Usage.Keys.ToList()) Usage[kind] = Usage.Get<long>(kind) + usage.Get<long>(kind);
    }

    /// <summary>Sends an event; returns the verdict, and the data as hooks changed it. A refusal is Refused.</summary>
    protected async Task<Moment> Fire(string name, Members data)
    {
        if (ending != null && Acts.Contains(name)) throw new Refused(ending);
        if (name == "StepStart") Step++;
        var told = new Members
        {
            ["event"] = name, ["session"] = $"s{Process.GetCurrentProcess().Id}", ["run"] = RunId,
            ["parentRun"] = Parent?.RunId, ["step"] = Step == 0 ? null : (object)Step,
            ["agent"] = new Members { ["name"] = Name, ["parent"] = Parent?.Name }, ["metadata"] = Context["metadata"],
        };
        foreach (var member in data) told[member.Key] = member.Value;
        var verdict = await Hooks.DispatchAsync(told);
        Problem = Problem ?? verdict.Failure;
        foreach (var text in verdict.UserMessages) Console.WriteLine($"[hook] {text}");
        Notes.AddRange(verdict.AdditionalContext);
        var state = new Members(Context);
        foreach (var member in data) state[member.Key] = member.Value;
        var patched = verdict.Patched(state);
        Context = new Members
        {
            ["metadata"] = patched.Get<Members>("metadata") ?? new Members(),
            ["systemPrompt"] = patched.Get<string>("systemPrompt") ?? "",
            ["messages"] = patched.Get<List<object>>("messages") ?? new List<object>(),
        };
        if (verdict.Stops) ending = verdict.Reason; // refuses this act and whatever the run would do next
        if (!verdict.Allowed && !Informing.Contains(name)) throw new Refused(verdict.Reason ?? "a hook said no");
        if (name == "PermissionRequest" && verdict.DecidedBy == null)
            throw new Refused("nobody has allowed it"); // where your agent would ask its user
        var left = new Members();
        foreach (var member in data.Keys) left[member] = patched.Get<object>(member);
        if (verdict.Rewritten)
        {
            var place = Verdict.Subjects[name].Split('/');
            if (place.Length == 2) left[place[1]] = verdict.Value;
            else left[place[1]] = new Members(left.Get<Members>(place[1])) { [place[2]] = verdict.Value };
        }
        return new Moment { Verdict = verdict, Data = left };
    }
}

// What follows is the loop's surroundings: a scripted model, tools that change real files, a terminal.

sealed class ModelError : Exception
{
    public readonly Members Failure;

    public ModelError(Members failure) : base($"{failure["status"]} {failure["message"]}") { Failure = failure; }
}

static class World
{
    public static readonly string[] Allowed = { "Read", "Write", "Task" }; // other tools need a permission
    public const long Budget = 1000; // tokens that the model may read before its context is compacted
    public const string Summarise = "Summarise this conversation so that the work can go on from your summary alone.";
    const int Attempts = 5; // at one model call, whatever hooks say

    static Queue<object> replies;

    /// <summary>The user's prompts; each begins a new run.</summary>
    public static IEnumerable<string> Prompts(Hooked agent)
    {
        var session = (Members)Json.Parse(File.ReadAllText(Path.Combine(AppDomain.CurrentDomain.BaseDirectory, "session.json")));
        replies = new Queue<object>(session.Get<List<object>>("replies"));
        var n = 0;
        foreach (string prompt in session.Get<List<object>>("prompts"))
        {
            agent.Begin($"r{++n}");
            Console.WriteLine($"> {prompt}");
            yield return prompt;
        }
        agent.Begin(null);
    }

    /// <summary>Returns the script's next reply; yours would call a provider.</summary>
    public static Members CallModel(Members model)
    {
        if (replies.Count == 0) throw new ModelError(new Members { ["status"] = 500, ["message"] = "the script is over" });
        var said = (Members)replies.Dequeue();
        if (said.ContainsKey("error")) throw new ModelError(said.Get<Members>("error"));
        var calls = said.Get<List<object>>("calls") ?? new List<object>();
        return new Members
        {
            ["response"] = new Members { ["content"] = said.Get<string>("content") ?? "", ["calls"] = calls },
            ["usage"] = said["usage"], ["finishReason"] = said.Get<string>("finishReason") ?? "stop",
        };
    }

    /// <summary>Waits as long as hooks ask for; returns whether to try again.</summary>
    public static async Task<bool> Waited(Members retry, int attempt)
    {
        if (retry == null || retry.Get<string>("action") == "fail" || attempt == Attempts) return false;
        await Task.Delay((int)retry.Get<long>("afterMs"));
        return true;
    }

    public static string Use(Members tool)
    {
        var input = tool.Get<Members>("input");
        var path = input.Get<string>("path");
        switch (tool.Get<string>("name"))
        {
            case "Read":
                return File.ReadAllText(path);
            case "Write":
                File.WriteAllText(path, input.Get<string>("content"));
                return "written";
            case "Delete":
                File.Delete(path);
                return "deleted";
            default:
                throw new ArgumentException($"no such tool: {tool["name"]}");
        }
    }

    /// <summary>Runs an act; returns its output or error, and how long it took.</summary>
    public static async Task<Members> Tried(Func<Task<string>> act)
    {
        var watch = Stopwatch.StartNew();
        var outcome = new Members();
        try
        {
            outcome["output"] = await act();
        }
        catch (Exception error)
        {
            outcome["error"] = error.Message;
            outcome["output"] = $"{(error is Refused ? "refused" : "failed")}: {error.Message}";
        }
        outcome["durationMs"] = watch.Elapsed.TotalMilliseconds;
        return outcome;
    }

    public static string Save(Hooked agent)
    {
        var path = $"checkpoint-{agent.Name}.json";
        File.WriteAllText(path, Json.Write(new Members(agent.Context) { ["run"] = agent.RunId, ["step"] = agent.Step }));
        return path;
    }

    /// <summary>Prints a line and returns its last part.</summary>
    public static string Show(params string[] words)
    {
        Console.WriteLine(string.Join(": ", words.Select(word => word.Trim())));
        return words.Last();
    }

    static int Main(string[] arguments)
    {
        var given = Environment.GetEnvironmentVariable("PATIENCE") ?? "5"; // seconds for a verdict
        var patience = TimeSpan.FromSeconds(double.Parse(given, CultureInfo.InvariantCulture));
        var options = new HookOptions { Deadline = patience, Patience = TimeSpan.FromSeconds(patience.TotalSeconds / 2) };
        options.Arguments.AddRange(arguments);
        options.Log = _ => { };
        using (var hooks = new Hooks(options))
        {
            try
            {
                new Agent(hooks, "coder").Session().GetAwaiter().GetResult();
            }
            catch (Refused no)
            {
                Show($"refused: {no.Message}");
            }
        }
        if (Hooked.Problem != null) Console.Error.WriteLine($"hookwire gave no verdict: {Hooked.Problem}");
        return Hooked.Problem == null ? 0 : 1;
    }
}
