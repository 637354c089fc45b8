// This client as `hookwire-conformance --client` tries it: each line says what to do, and what came of it is printed.

using System;
using System.Collections.Generic;
using System.Linq;
using System.Threading;
using System.Threading.Tasks;
using Hookwire;

static class Conformance
{
    static Hooks Client(Members settings)
    {
        var options = new HookOptions { FailOpen = settings.Get<string>("fail") == "open", Log = _ => { } };
        if (settings.ContainsKey("deadlineMs"))
            options.Deadline = TimeSpan.FromMilliseconds(settings.Get<long>("deadlineMs"));
        if (settings.ContainsKey("approve")) options.Approve = (_, __) => Task.FromResult(settings["approve"]);
        if (settings.ContainsKey("complete"))
            options.Complete = (_, __) => Task.FromResult<object>(new Members { ["text"] = settings["complete"] });
        var hooks = new Hooks(options);
        foreach (var hook in (settings.Get<List<object>>("hooks") ?? new List<object>()).Cast<Members>())
        {
            var definition = new Members { ["name"] = hook["name"], ["on"] = hook["on"], ["if"] = hook["if"] };
            hooks.On(definition, (_, __) =>
            {
                if (hook.ContainsKey("fails")) throw new Exception(hook.Get<string>("fails"));
                return Task.FromResult(hook["answer"]);
            });
        }
        return hooks;
    }

    static async Task Obey(Hooks hooks, string name, Members sent, CancellationToken cancel)
    {
        var did = new Members { ["as"] = name };
        try { did["run"] = (await hooks.DispatchAsync(sent, cancel)).Enforce(); }
        catch (Stopped stopped) { did["stop"] = stopped.Message; }
        catch (Denied denied) { did["deny"] = denied.Message; }
        catch (RequestFailed refused) { did["refused"] = refused.Message; }
        catch (OperationCanceledException) { did["cancelled"] = true; }
        lock (typeof(Conformance)) Console.WriteLine(Json.Write(did));
    }

    static void Main()
    {
        var tasks = new List<Task>();
        var cancels = new Dictionary<string, CancellationTokenSource>();
        Hooks hooks = null;
        for (string text; (text = Console.ReadLine()) != null;)
        {
            var line = (Members)Json.Parse(text);
            if (line.ContainsKey("settings"))
            {
                hooks = Client(line.Get<Members>("settings"));
            }
            else if (line.ContainsKey("cancel"))
            {
                cancels[line.Get<string>("cancel")].Cancel();
            }
            else
            {
                var name = line.Get<string>("as");
                cancels[name] = new CancellationTokenSource();
                tasks.Add(Obey(hooks, name, line.Get<Members>("dispatch"), cancels[name].Token));
            }
        }
        hooks?.Dispose();
        Task.WaitAll(tasks.ToArray());
    }
}
