// hookwire, a host of hooks, is asked before an agent acts. One file without dependencies, for .NET and Mono, from C# 7 on.
//
//     using (var hooks = new Hooks(new HookOptions { Hooks = { "hooks" } }))
//     {
//         var tool = new Members { ["name"] = "Bash", ["input"] = new Members { ["command"] = command } };
//         var verdict = await hooks.DispatchAsync(new Members { ["event"] = "PreToolUse", ["tool"] = tool });
//         var input = (Members)verdict.Enforce(); // throws Denied, and Stopped if the run is over
//     }
//
// HookPipeline, at the end, is the same in the words of WorkflowFramework.

using System;
using System.Collections;
using System.Collections.Concurrent;
using System.Collections.Generic;
using System.Diagnostics;
using System.Globalization;
using System.IO;
using System.Linq;
using System.Text;
using System.Threading;
using System.Threading.Tasks;

namespace Hookwire
{
    /// <summary>A JSON object. Its values are null, bool, long, decimal, double, string, List&lt;object&gt; and
    /// Members.</summary>
    public sealed class Members : Dictionary<string, object>
    {
        public Members() { }

        public Members(IDictionary<string, object> others) : base(others) { }

        /// <summary>The member; null where there is none, or where it has another type.</summary>
        public T Get<T>(string name) => TryGetValue(name, out var value) && value is T it ? it : default(T);
    }

    /// <summary>The host has ended, hangs, or can't be started.</summary>
    public sealed class HostGone : Exception
    {
        public HostGone(string message) : base(message) { }
    }

    /// <summary>The host refused a request: JSON-RPC's code and message.</summary>
    public sealed class RequestFailed : Exception
    {
        public RequestFailed(long code, string message) : base(message) { Code = code; }

        public long Code { get; }

        /// <summary>Whether the request is wrong by itself: another host would refuse it too.</summary>
        internal bool IsCallersFault => -32602 <= Code && Code <= -32600;
    }

    /// <summary>The act must not be done.</summary>
    public class Denied : Exception
    {
        public Denied(Verdict verdict) : base(verdict.Reason ?? "a hook said no") { Verdict = verdict; }

        public Verdict Verdict { get; }
    }

    /// <summary>The act must not be done, and the run is over.</summary>
    public sealed class Stopped : Denied
    {
        public Stopped(Verdict verdict) : base(verdict) { }
    }

    /// <summary>What a client is told when it is made.</summary>
    public sealed class HookOptions
    {
        /// <summary>Directories of definitions.</summary>
        public List<string> Hooks { get; } = new List<string>();
        /// <summary>Also the definitions of the project's .hookwire, in Root or the current directory.</summary>
        public bool Live;
        public string Root;
        /// <summary>The program to run, instead of the one that HOOKWIRE names or that is on PATH.</summary>
        public string Program;
        /// <summary>More arguments for its `serve`.</summary>
        public List<string> Arguments { get; } = new List<string>();
        /// <summary>Without a host, acts are done instead of denied.</summary>
        public bool FailOpen;
        /// <summary>For a verdict; by default 30 seconds, or 330 where a person may be asked.</summary>
        public TimeSpan? Deadline;
        /// <summary>A host that has been silent for so long when a deadline passes is replaced.</summary>
        public TimeSpan Patience = TimeSpan.FromSeconds(5);
        /// <summary>What this agent can honour; any other decision becomes a deny.</summary>
        public string[] Decisions = { "allow", "deny", "rewrite" };
        /// <summary>What sends the events, where an event doesn't say.</summary>
        public string Session, Agent;
        /// <summary>Asks a person; returns true, false or an ApprovalReply as Members.</summary>
        public Func<Members, CancellationToken, Task<object>> Approve;
        /// <summary>The agent's own model, for `prompt` and `agent` hooks.</summary>
        public Func<Members, CancellationToken, Task<object>> Complete;
        /// <summary>Hears the host's notifications, such as hooks/failed. The functions must be quick.</summary>
        public Dictionary<string, Action<Members>> Listen { get; } = new Dictionary<string, Action<Members>>();
        /// <summary>Gets what went wrong; by default stderr.</summary>
        public Action<string> Log = Console.Error.WriteLine;
    }

    /// <summary>The client: keeps a host, sends it events, and answers what the host asks. All methods may be called
    /// from several threads at once.</summary>
    public sealed class Hooks : IDisposable
    {
        public const long Version = 1;
        // Pauses before the next start of a host, in seconds, after so many starts that came to nothing.
        static readonly double[] Pauses = { 0, 0, 0.1, 0.5, 2, 5, 15, 30 };

        readonly HookOptions options;
        readonly TimeSpan deadline;
        readonly string session;
        readonly object key = new object();
        readonly List<Members> definitions = new List<Members>();
        readonly ConcurrentDictionary<string, Func<Members, CancellationToken, Task<object>>> functions =
            new ConcurrentDictionary<string, Func<Members, CancellationToken, Task<object>>>();
        Connection host;
        int inVain;
        Stopwatch pause = Stopwatch.StartNew();
        double pauseFor;
        bool isClosed;

        /// <summary>The host starts with the first event. It ends with Dispose or with this process.</summary>
        public Hooks(HookOptions options = null)
        {
            this.options = options ?? new HookOptions();
            deadline = this.options.Deadline ?? TimeSpan.FromSeconds(this.options.Approve == null ? 30 : 330);
            session = this.options.Session ?? $"{Process.GetCurrentProcess().Id:x}-{DateTime.UtcNow.Ticks:x}";
        }

        /// <summary>Makes a function a hook: it gets the event and returns an answer, or null for no opinion. The
        /// definition is written as in a file: it has `name` and `on`, and may have `if`, `matcher`, `fail` and
        /// others.</summary>
        public Hooks On(Members definition, Func<Members, CancellationToken, Task<object>> callback,
            string dialect = null)
        {
            var name = definition.Get<string>("name") ?? throw new ArgumentException("a hook has a name");
            var hook = new Members(definition) { ["callback"] = name };
            if (dialect != null) hook["dialect"] = dialect;
            Json.Write(hook); // what isn't JSON is the caller's mistake, here and not at the next event
            if (!functions.TryAdd(name, callback)) throw new ArgumentException($"there is a hook {name} already");
            Connection current;
            lock (key)
            {
                definitions.Add(hook);
                current = host;
            }
            try { if (current?.Gone == null) current?.Register(new List<object> { hook }); }
            catch (HostGone) { } // the next host gets them all
            return this;
        }

        /// <summary>Sends an event. Without a host, the verdict is what FailOpen says. It throws RequestFailed if the
        /// event itself is wrong, and OperationCanceledException if the token is cancelled, as the hooks then
        /// are.</summary>
        public async Task<Verdict> DispatchAsync(Members sent, CancellationToken cancel = default(CancellationToken))
        {
            var whole = new Members { ["session"] = session, ["cwd"] = Directory.GetCurrentDirectory() };
            if (options.Agent != null) whole["agent"] = new Members { ["name"] = options.Agent };
            foreach (var member in sent) whole[member.Key] = member.Value;
            return await Ask(whole, whole, cancel).ConfigureAwait(false);
        }

        /// <summary>Sends an event in a dialect's words; the verdict's Reply is in them too.</summary>
        public Task<Verdict> DispatchAsync(string dialect, Members payload,
            CancellationToken cancel = default(CancellationToken))
        {
            return Ask(new Members { ["dialect"] = dialect, ["payload"] = payload }, payload, cancel);
        }

        async Task<Verdict> Ask(Members sent, Members whole, CancellationToken cancel)
        {
            // The host answers a little before this client gives up.
            sent["deadlineMs"] = Math.Max(1, (long)(deadline.TotalMilliseconds * 0.9));
            string failure;
            try
            {
                var result = await RequestAsync("hooks/dispatch", sent, cancel).ConfigureAwait(false) as Members;
                var verdict = result?.Get<Members>("verdict") ?? result;
                if (verdict?.Get<string>("decision") != null) return new Verdict(verdict, whole, result);
                failure = "the host's reply is no verdict";
            }
            catch (HostGone gone)
            {
                failure = gone.Message;
            }
            catch (RequestFailed refused) when (!refused.IsCallersFault)
            {
                failure = refused.Message;
            }
            options.Log($"hookwire gave no verdict: {failure}");
            return Verdict.WithoutHost(whole, options.FailOpen, failure);
        }

        /// <summary>Sends any request of the protocol. Throws HostGone without a host, and RequestFailed if it
        /// refuses.</summary>
        public async Task<object> RequestAsync(string method, object parameters,
            CancellationToken cancel = default(CancellationToken))
        {
            cancel.ThrowIfCancellationRequested();
            var connection = CurrentHost();
            var waiting = new TaskCompletionSource<object>(TaskCreationOptions.RunContinuationsAsynchronously);
            var id = connection.Request(method, parameters, waiting, deadline);
            using (var timer = CancellationTokenSource.CreateLinkedTokenSource(cancel))
            {
                if (await Task.WhenAny(waiting.Task, Task.Delay(deadline, timer.Token)).ConfigureAwait(false) == waiting.Task)
                {
                    timer.Cancel();
                    return await waiting.Task.ConfigureAwait(false);
                }
            }
            connection.Cancel(id);
            cancel.ThrowIfCancellationRequested();
            if (connection.SilentFor >= options.Patience) connection.End("the host hangs");
            throw new HostGone($"no reply within {deadline.TotalSeconds} s");
        }

        public void Dispose()
        {
            Connection current;
            lock (key)
            {
                isClosed = true;
                current = host;
            }
            current?.Close();
        }

        Connection CurrentHost()
        {
            lock (key)
            {
                if (isClosed) throw new HostGone("the client is closed");
                if (host != null && host.Gone == null) return host;
                if (pause.Elapsed.TotalSeconds < pauseFor) throw new HostGone(host?.Gone ?? "no host could be started");
                pauseFor = Pauses[Math.Min(inVain++, Pauses.Length - 1)];
                pause = Stopwatch.StartNew();
                try
                {
                    return host = Start();
                }
                catch (Exception problem) when (problem is SystemException || problem is IOException)
                {
                    throw new HostGone($"no host: {problem.Message}");
                }
            }
        }

        Connection Start()
        {
            var arguments = new List<string> { "serve" };
            foreach (var directory in options.Hooks) arguments.AddRange(new[] { "--hooks", directory });
            if (options.Live) arguments.Add("--live");
            if (options.Root != null) arguments.AddRange(new[] { "--root", options.Root });
            arguments.AddRange(options.Arguments);
            var named = Environment.GetEnvironmentVariable("HOOKWIRE");
            var program = options.Program ?? (string.IsNullOrEmpty(named) ? "hookwire" : named);
            var connection = new Connection(program, arguments, Serve, Notified);
            var requests = new List<object>();
            if (options.Approve != null) requests.Add("approval/request");
            if (options.Complete != null) requests.Add("model/complete");
            var can = new Members
            {
                ["decisions"] = options.Decisions, ["requests"] = requests, ["notifications"] = options.Listen.Keys.ToList(),
            };
            // Nothing waits for the replies: what is sent after them is judged after them.
            connection.Request("initialize", new Members { ["capabilities"] = new Members { ["hooks"] = can } }, reply =>
            {
                var found = (reply.Result as Members)?.Get<object>("protocolVersion");
                if (Equals(found, Version)) Interlocked.Exchange(ref inVain, 0);
                else connection.End($"the host speaks version {found} of the protocol, this client version {Version}");
            });
            if (definitions.Count > 0) connection.Register(definitions.ToList<object>());
            return connection;
        }

        Task<object> Serve(string method, Members asked, CancellationToken cancel)
        {
            if (method == "hooks/invoke" && functions.TryGetValue(asked.Get<string>("callback") ?? "", out var function))
                return function(asked.Get<Members>("event"), cancel);
            if (method == "approval/request" && options.Approve != null) return Approved(asked, cancel);
            if (method == "model/complete" && options.Complete != null) return options.Complete(asked, cancel);
            throw new RequestFailed(-32601, $"this client doesn't answer {method}");
        }

        async Task<object> Approved(Members question, CancellationToken cancel)
        {
            var said = await options.Approve(question, cancel).ConfigureAwait(false);
            return said is bool yes ? new Members { ["decision"] = yes ? "approve" : "deny" } : said;
        }

        void Notified(string method, Members told)
        {
            if (method == "hooks/register") options.Log($"hook {told.Get<string>("hook")}: {told.Get<string>("message")}");
            else if (options.Listen.TryGetValue(method, out var hear)) hear(told);
        }
    }

    /// <summary>The answer to one event. Enforce is how it is obeyed.</summary>
    public sealed class Verdict
    {
        internal Verdict(Members message, Members sent, Members result, string failure = null)
        {
            Message = message;
            Event = sent;
            Failure = failure;
            Reply = result?.Get<object>("reply");
        }

        /// <summary>The whole verdict, as the host sent it.</summary>
        public Members Message { get; }
        public Members Event { get; }
        /// <summary>Why the host gave no verdict; then FailOpen has decided. Null where it gave one.</summary>
        public string Failure { get; }
        /// <summary>The reply in the words of the event's dialect.</summary>
        public object Reply { get; }
        /// <summary>`allow`, `ask`, `defer` or `deny`.</summary>
        public string Decision => Message.Get<string>("decision");
        public string Stop => Message.Get<string>("stop");
        /// <summary>Whether the run is over.</summary>
        public bool Stops => Stop != null;
        public bool Allowed => Decision == "allow" && !Stops;
        public string Reason => Stop ?? Message.Get<string>("reason");
        /// <summary>The hook that decided; null where no hook had an opinion.</summary>
        public string DecidedBy => Message.Get<string>("decidedBy");
        public bool Rewritten => Message.ContainsKey("subject");
        /// <summary>The event's subject as it is to be used: as hooks rewrote it, else as it was.</summary>
        public object Value => Rewritten ? Message["subject"] : SubjectOf(Event);
        /// <summary>For the person.</summary>
        public IEnumerable<string> UserMessages => Texts("userMessages");
        /// <summary>For the model.</summary>
        public IEnumerable<string> AdditionalContext => Texts("additionalContext");
        /// <summary>What to do about a failed model call: `action`, `afterMs`, `model`.</summary>
        public Members Retry => Message.Get<Members>("retry");
        /// <summary>What policies grant a tool call: the agent keeps to it.</summary>
        public object Grant => Message.Get<object>("grant");

        IEnumerable<string> Texts(string name) =>
            Message.Get<List<object>>(name)?.OfType<string>() ?? Enumerable.Empty<string>();

        /// <summary>Returns the subject as it is to be used. Throws Denied where the act must not be done, and Stopped
        /// where the run is over too. A question that nobody answered is a deny.</summary>
        public object Enforce()
        {
            if (Stops) throw new Stopped(this);
            if (Decision != "allow") throw new Denied(this);
            return Value;
        }

        /// <summary>The agent's state as `context`, a JSON merge patch, changes it.</summary>
        public Members Patched(Members state) =>
            Message.ContainsKey("context") ? Merged(state, Message["context"]) as Members ?? new Members() : state;

        internal static Verdict WithoutHost(Members sent, bool failOpen, string failure)
        {
            // A deny at Stop would send the agent back to work for as long as there is no host.
            var rests = Equals(sent.Get<object>("event"), "Stop") || Equals(sent.Get<object>("event"), "SubagentStop");
            var message = new Members
            {
                ["decision"] = failOpen || rests ? "allow" : "deny", ["reason"] = $"hookwire gave no verdict: {failure}",
            };
            return new Verdict(message, sent, null, failure);
        }

        static object Merged(object target, object patch)
        {
            if (!(patch is Members members)) return patch;
            var result = target is Members old ? new Members(old) : new Members();
            foreach (var member in members)
            {
                if (member.Value == null) result.Remove(member.Key);
                else result[member.Key] = Merged(result.Get<object>(member.Key), member.Value);
            }
            return result;
        }

        static object SubjectOf(Members sent)
        {
            if (!Subjects.TryGetValue(sent.Get<string>("event") ?? "", out var pointer)) return null;
            object value = sent;
            foreach (var member in pointer.Split('/').Skip(1)) value = (value as Members)?.Get<object>(member);
            return value;
        }

        /// <summary>The JSON pointer of each event's subject. Generated by clients/types.</summary>
        public static readonly Dictionary<string, string> Subjects = new Dictionary<string, string> {
            ["MessageDisplay"] = "/lastMessage",
            ["PermissionRequest"] = "/tool/input",
            ["PostModelCall"] = "/model/response",
            ["PostToolUse"] = "/tool/output",
            ["PostToolUseFailure"] = "/tool/output",
            ["PreCompact"] = "/compaction",
            ["PreModelCall"] = "/model/request",
            ["PreSkillShellCommand"] = "/tool/input",
            ["PreToolUse"] = "/tool/input",
            ["RunEnd"] = "/result",
            ["RunError"] = "/result",
            ["RunStart"] = "/prompt",
            ["StepEnd"] = "/lastMessage",
            ["Stop"] = "/lastMessage",
            ["SubagentStart"] = "/prompt",
            ["SubagentStop"] = "/lastMessage",
            ["UserPromptExpansion"] = "/prompt",
            ["UserPromptSubmit"] = "/prompt",
        };
    }

    struct Reply
    {
        internal object Result;
        internal Exception Problem;
    }

    /// <summary>One host on the other end of two pipes, until it is gone. Nothing waits for it but two threads.</summary>
    sealed class Connection
    {
        // No message is longer; a verdict may hold a whole file.
        const int Longest = 256 << 20;

        readonly Process process;
        readonly Func<string, Members, CancellationToken, Task<object>> serve;
        readonly Action<string, Members> notified;
        readonly object key = new object();
        readonly BlockingCollection<byte[]> outgoing = new BlockingCollection<byte[]>(64);
        readonly Thread reader, writer;
        readonly ConcurrentDictionary<string, CancellationTokenSource> working =
            new ConcurrentDictionary<string, CancellationTokenSource>();
        Dictionary<long, Action<Reply>> pending = new Dictionary<long, Action<Reply>>();
        long lastId;
        Stopwatch silence; // since a request was sent to which the host has given no sign of life
        volatile string gone;

        internal Connection(string program, List<string> arguments,
            Func<string, Members, CancellationToken, Task<object>> serve, Action<string, Members> notified)
        {
            this.serve = serve;
            this.notified = notified;
            // stderr stays this process's own.
            var start = new ProcessStartInfo(program)
            {
                UseShellExecute = false, RedirectStandardInput = true, RedirectStandardOutput = true,
            };
            // Mono passes over ArgumentList, and takes Arguments apart as a shell does.
            if (Type.GetType("Mono.Runtime") == null) foreach (var argument in arguments) start.ArgumentList.Add(argument);
            else start.Arguments = string.Join(" ", arguments.Select(it => "'" + it.Replace("'", "'\\''") + "'"));
            process = Process.Start(start);
            reader = new Thread(Read) { IsBackground = true };
            writer = new Thread(Write) { IsBackground = true };
            reader.Start();
            writer.Start();
        }

        /// <summary>Why this host is gone; null while it is there.</summary>
        internal string Gone => gone;

        internal TimeSpan SilentFor => silence?.Elapsed ?? TimeSpan.Zero;

        internal long Request(string method, object parameters, TaskCompletionSource<object> waiting, TimeSpan deadline)
        {
            return Request(method, parameters, reply =>
            {
                if (reply.Problem == null) waiting.TrySetResult(reply.Result);
                else waiting.TrySetException(reply.Problem);
            }, deadline);
        }

        /// <summary>`take` gets the reply, before the next message is looked at.</summary>
        internal long Request(string method, object parameters, Action<Reply> take, TimeSpan? deadline = null)
        {
            long id;
            byte[] line;
            lock (key)
            {
                if (gone != null) throw new HostGone(gone);
                id = ++lastId;
                line = Line(new Members { ["id"] = id, ["method"] = method, ["params"] = parameters });
                pending[id] = take;
                silence = silence ?? Stopwatch.StartNew();
            }
            Send(line, deadline ?? TimeSpan.FromSeconds(30));
            return id;
        }

        internal void Register(List<object> hooks)
        {
            var names = string.Join(", ", hooks.Select(it => ((Members)it)["name"]));
            Request("hooks/register", new Members { ["hooks"] = hooks }, reply =>
            {
                // A guard that isn't in force must not be taken for one that has no objection.
                if (reply.Problem != null) End($"the hooks {names} could not be registered: {reply.Problem.Message}");
                var remarks = (reply.Result as Members)?.Get<List<object>>("diagnostics") ?? new List<object>();
                foreach (var remark in remarks.OfType<Members>()) notified("hooks/register", remark);
            });
        }

        /// <summary>Ends a request; its reply, if one still comes, is passed over.</summary>
        internal void Cancel(long id)
        {
            bool waits;
            lock (key) waits = pending.Remove(id);
            var parameters = new Members { ["id"] = id };
            if (waits) Send(Line(new Members { ["method"] = "$/cancelRequest", ["params"] = parameters }), TimeSpan.Zero);
        }

        /// <summary>Lets the host end; after two seconds it is killed.</summary>
        internal void Close()
        {
            outgoing.CompleteAdding();
            reader.Join(TimeSpan.FromSeconds(2));
            End("the client has closed");
            // Mono may hang at its end if a thread still waits for a process.
            reader.Join(TimeSpan.FromSeconds(2));
            writer.Join(TimeSpan.FromSeconds(2));
        }

        /// <summary>The host is gone or has to go. What waits for it fails at once.</summary>
        internal void End(string why)
        {
            Dictionary<long, Action<Reply>> waiting;
            lock (key)
            {
                if (gone != null) return;
                gone = why;
                waiting = pending;
                pending = new Dictionary<long, Action<Reply>>();
            }
            outgoing.CompleteAdding();
            foreach (var work in working.Values) Quietly(work.Cancel);
            foreach (var take in waiting.Values) take(new Reply { Problem = new HostGone(why) });
            Quietly(process.Kill); // it may have ended
            process.WaitForExit();
        }

        static void Quietly(Action action)
        {
            try { action(); }
            catch (InvalidOperationException) { }
            catch (AggregateException) { }
            catch (System.ComponentModel.Win32Exception) { }
            catch (IOException) { }
        }

        static byte[] Line(Members message)
        {
            message["jsonrpc"] = "2.0";
            return Encoding.UTF8.GetBytes(Json.Write(message) + "\n");
        }

        /// <summary>Waits only while the host reads nothing.</summary>
        void Send(byte[] line, TimeSpan deadline)
        {
            try { outgoing.TryAdd(line, deadline); }
            catch (InvalidOperationException) { } // the host is gone, so nothing waits for a reply any more
        }

        void Write()
        {
            try
            {
                var stream = process.StandardInput.BaseStream;
                foreach (var line in outgoing.GetConsumingEnumerable())
                {
                    stream.Write(line, 0, line.Length);
                    stream.Flush();
                }
            }
            catch (IOException) { End("the host has ended"); }
            Quietly(process.StandardInput.Close);
        }

        void Read()
        {
            var why = "the host has ended";
            try
            {
                var stream = process.StandardOutput.BaseStream;
                var line = new MemoryStream();
                var buffer = new byte[1 << 16];
                for (int read; (read = stream.Read(buffer, 0, buffer.Length)) > 0;)
                {
                    silence = null;
                    for (int from = 0, end; from < read; from = end + 1)
                    {
                        end = Array.IndexOf(buffer, (byte)'\n', from, read - from);
                        line.Write(buffer, from, (end < 0 ? read : end) - from);
                        if (line.Length > Longest) throw new FormatException();
                        if (end < 0) break;
                        var text = new UTF8Encoding(false, true).GetString(line.GetBuffer(), 0, (int)line.Length);
                        line.SetLength(0);
                        Take(Json.Parse(text) as Members ?? throw new FormatException());
                    }
                }
            }
            catch (IOException) { }
            catch (ObjectDisposedException) { }
            catch (Exception problem) when (problem is FormatException || problem is ArgumentException)
            {
                why = "the host sent something unreadable";
            }
            End(why);
        }

        void Take(Members message)
        {
            var method = message.Get<string>("method");
            var id = message.Get<object>("id");
            var parameters = message.Get<Members>("params") ?? new Members();
            if (method == null)
            {
                Action<Reply> take = null;
                lock (key)
                {
                    if (id is long number && pending.TryGetValue(number, out take)) pending.Remove(number);
                }
                var error = message.Get<Members>("error");
                var problem = error == null ? null : new RequestFailed(error.Get<long>("code"), error.Get<string>("message"));
                take?.Invoke(new Reply { Result = message.Get<object>("result"), Problem = problem });
            }
            else if (method == "$/cancelRequest")
            {
                if (working.TryGetValue(Json.Write(parameters.Get<object>("id")), out var work)) Quietly(work.Cancel);
            }
            else if (!message.ContainsKey("id")) notified(method, parameters);
            else Task.Run(() => Answer(id, method, parameters));
        }

        async Task Answer(object id, string method, Members parameters)
        {
            using (var cancel = new CancellationTokenSource())
            {
                var name = Json.Write(id);
                working[name] = cancel;
                var answer = new Members { ["id"] = id };
                byte[] line;
                try
                {
                    answer["result"] = await serve(method, parameters, cancel.Token).ConfigureAwait(false) ?? new Members();
                    line = Line(answer);
                }
                catch (Exception problem) // whatever a function throws is its failure, and no answer
                {
                    var code = (problem as RequestFailed)?.Code ?? (cancel.IsCancellationRequested ? -32800 : -32000);
                    var message = $"{problem.GetType().Name}: {problem.Message}";
                    answer.Remove("result");
                    answer["error"] = new Members { ["code"] = code, ["message"] = message };
                    line = Line(answer);
                }
                working.TryRemove(name, out _);
                Send(line, TimeSpan.FromSeconds(30));
            }
        }
    }

    /// <summary>JSON, because the .NET of Mono brings none.</summary>
    public static class Json
    {
        const int Deepest = 256;

        public static string Write(object value)
        {
            var text = new StringBuilder();
            Write(text, value, 0);
            return text.ToString();
        }

        static void Write(StringBuilder text, object value, int depth)
        {
            if (depth > Deepest) throw new ArgumentException("too deep for JSON");
            if (value == null) text.Append("null");
            else if (value is string it) Quote(text, it);
            else if (value is bool truth) text.Append(truth ? "true" : "false");
            else if (value is double number && (double.IsNaN(number) || double.IsInfinity(number)))
                throw new ArgumentException("not a number of JSON");
            else if (value is double real) text.Append(real.ToString("R", CultureInfo.InvariantCulture));
            else if (value is IConvertible && value is IFormattable other && !(value is DateTime) && !(value is Enum))
                text.Append(other.ToString(null, CultureInfo.InvariantCulture));
            else if (value is IDictionary<string, object> members)
                Join(text, '{', '}', members, member =>
                {
                    Quote(text, member.Key);
                    text.Append(':');
                    Write(text, member.Value, depth + 1);
                });
            else if (value is IEnumerable items) Join(text, '[', ']', items.Cast<object>(), item => Write(text, item, depth + 1));
            else throw new ArgumentException($"{value.GetType()} is not JSON");
        }

        static void Join<T>(StringBuilder text, char open, char close, IEnumerable<T> items, Action<T> write)
        {
            text.Append(open);
            var first = text.Length;
            foreach (var item in items)
            {
                if (text.Length > first) text.Append(',');
                write(item);
            }
            text.Append(close);
        }

        static void Quote(StringBuilder text, string value)
        {
            text.Append('"');
            foreach (var c in value)
            {
                if (c == '"' || c == '\\') text.Append('\\').Append(c);
                else if (c < ' ' || char.IsSurrogate(c)) text.Append("\\u").Append(((int)c).ToString("x4"));
                else text.Append(c);
            }
            text.Append('"');
        }

        /// <summary>Throws FormatException where the text isn't JSON.</summary>
        public static object Parse(string text)
        {
            var at = 0;
            var value = Value(text, ref at, 0);
            return Next(text, ref at) == '\0' ? value : throw new FormatException("more than one value");
        }

        static char Next(string text, ref int at)
        {
            while (at < text.Length && " \t\r\n".IndexOf(text[at]) >= 0) at++;
            return at < text.Length ? text[at] : '\0';
        }

        static void Expect(string text, ref int at, char wanted)
        {
            if (Next(text, ref at) != wanted) throw new FormatException($"{wanted} expected at {at}");
            at++;
        }

        static object Value(string text, ref int at, int depth)
        {
            if (depth > Deepest) throw new FormatException("too deep");
            switch (Next(text, ref at))
            {
                case '"': return Text(text, ref at);
                case '{':
                    var members = new Members();
                    at++;
                    while (Next(text, ref at) != '}')
                    {
                        if (members.Count > 0) Expect(text, ref at, ',');
                        Next(text, ref at);
                        var name = Text(text, ref at);
                        Expect(text, ref at, ':');
                        members.Add(name, Value(text, ref at, depth + 1)); // a member twice is an ArgumentException
                    }
                    at++;
                    return members;
                case '[':
                    var items = new List<object>();
                    at++;
                    while (Next(text, ref at) != ']')
                    {
                        if (items.Count > 0) Expect(text, ref at, ',');
                        items.Add(Value(text, ref at, depth + 1));
                    }
                    at++;
                    return items;
            }
            var from = at;
            while (at < text.Length && (char.IsLetterOrDigit(text[at]) || "+-.".IndexOf(text[at]) >= 0)) at++;
            var word = text.Substring(from, at - from);
            if (word == "null") return null;
            if (word == "true" || word == "false") return word == "true";
            var culture = CultureInfo.InvariantCulture;
            if (long.TryParse(word, NumberStyles.AllowLeadingSign, culture, out var whole)) return whole;
            if (word.IndexOfAny(new[] { 'e', 'E' }) < 0 && decimal.TryParse(word, NumberStyles.Float, culture, out var exact))
                return exact;
            if (word.Length > 0 && !char.IsLetter(word[0]) && double.TryParse(word, NumberStyles.Float, culture, out var real))
                return real;
            throw new FormatException($"no value at {from}");
        }

        static string Text(string text, ref int at)
        {
            if (at >= text.Length || text[at] != '"') throw new FormatException($"a text expected at {at}");
            var value = new StringBuilder();
            for (at++; at < text.Length && text[at] != '"'; at++)
            {
                if (text[at] != '\\')
                {
                    value.Append(text[at]);
                    continue;
                }
                if (++at == text.Length) break;
                var escape = "\"\\/bfnrtu".IndexOf(text[at]);
                if (escape < 0) throw new FormatException($"no such escape at {at}");
                if (escape < 8) value.Append("\"\\/\b\f\n\r\t"[escape]);
                else if (at + 4 < text.Length && ushort.TryParse(text.Substring(at + 1, 4), NumberStyles.AllowHexSpecifier,
                    CultureInfo.InvariantCulture, out var code))
                {
                    value.Append((char)code);
                    at += 4;
                }
                else throw new FormatException($"no such escape at {at}");
            }
            if (at++ >= text.Length) throw new FormatException("a text without an end");
            return value.ToString();
        }
    }

    // What follows has the names of WorkflowFramework. Where its agents have a HookPipeline, this one asks hookwire.

    public enum AgentHookEvent
    {
        WorkflowStarting, PreAgentPrompt, PreToolCall, PostToolCall, PostToolCallFailure, StepCompleted,
        SubWorkflowStarting, SubWorkflowCompleted, PreCompact, PostCompact, Checkpoint, Notification, WorkflowCompleted,
    }

    public enum HookDecision { Allow, Deny, Modify }

    public sealed class HookResult
    {
        public HookDecision Decision { get; set; }
        public string Reason { get; set; }
        public string ModifiedArgs { get; set; }
        public string OutputMessage { get; set; }

        public static HookResult AllowResult(string reason = null) => new HookResult { Reason = reason };

        public static HookResult DenyResult(string reason = null) =>
            new HookResult { Decision = HookDecision.Deny, Reason = reason };

        public static HookResult ModifyResult(string modifiedArgs, string reason = null) =>
            new HookResult { Decision = HookDecision.Modify, ModifiedArgs = modifiedArgs, Reason = reason };
    }

    public sealed class HookContext
    {
        public AgentHookEvent Event { get; set; }
        public string StepName { get; set; }
        public string ToolName { get; set; }
        public string ToolArgs { get; set; }
        public Members ToolResult { get; set; }
        public Members Metadata { get; set; } = new Members();
    }

    public interface IAgentHook
    {
        /// <summary>A regex that is searched in "Event:StepName:ToolName"; null finds all.</summary>
        string Matcher { get; }

        Task<HookResult> ExecuteAsync(AgentHookEvent hookEvent, HookContext context,
            CancellationToken ct = default(CancellationToken));
    }

    public sealed class CodeHook : IAgentHook
    {
        readonly Func<HookContext, Task<HookResult>> handler;

        public CodeHook(Func<HookContext, Task<HookResult>> handler, string matcher = null)
        {
            this.handler = handler;
            Matcher = matcher;
        }

        public string Matcher { get; }

        public Task<HookResult> ExecuteAsync(AgentHookEvent hookEvent, HookContext context,
            CancellationToken ct = default(CancellationToken)) => handler(context);
    }

    /// <summary>Hooks in the order in which they were added, after those of the files.</summary>
    public sealed class HookPipeline
    {
        const string Dialect = "workflow-framework";
        readonly Hooks hooks;
        int added;

        public HookPipeline(Hooks hooks) { this.hooks = hooks; }

        public HookPipeline Add(IAgentHook hook)
        {
            var name = $"{hook.GetType().Name}-{Interlocked.Increment(ref added)}";
            var definition = new Members { ["name"] = name };
            if (hook.Matcher != null) definition["matcher"] = hook.Matcher;
            hooks.On(definition, async (told, cancel) =>
            {
                Enum.TryParse(told.Get<string>("Event"), out AgentHookEvent at);
                var context = new HookContext
                {
                    Event = at, StepName = told.Get<string>("StepName"), ToolName = told.Get<string>("ToolName"),
                    ToolArgs = told.Get<string>("ToolArgs"), ToolResult = told.Get<Members>("ToolResult"),
                    Metadata = told.Get<Members>("Metadata") ?? new Members(),
                };
                var result = await hook.ExecuteAsync(at, context, cancel).ConfigureAwait(false);
                if (result == null) throw new InvalidOperationException($"{name} returned no HookResult");
                return new Members
                {
                    ["Decision"] = (int)result.Decision, ["Reason"] = result.Reason,
                    ["ModifiedArgs"] = result.ModifiedArgs, ["OutputMessage"] = result.OutputMessage,
                };
            }, Dialect);
            return this;
        }

        /// <summary>A deny without a host, unless FailOpen. ModifiedArgs are in the context's ToolArgs too.</summary>
        public async Task<HookResult> FireAsync(AgentHookEvent hookEvent, HookContext context,
            CancellationToken ct = default(CancellationToken))
        {
            var payload = new Members
            {
                ["Event"] = hookEvent.ToString(), ["StepName"] = context.StepName, ["ToolName"] = context.ToolName,
                ["ToolArgs"] = context.ToolArgs, ["ToolResult"] = context.ToolResult, ["Metadata"] = context.Metadata,
                ["cwd"] = Directory.GetCurrentDirectory(),
            };
            var verdict = await hooks.DispatchAsync(Dialect, payload, ct).ConfigureAwait(false);
            if (!(verdict.Reply is Members reply))
                return verdict.Allowed ? HookResult.AllowResult(verdict.Reason) : HookResult.DenyResult(verdict.Reason);
            var result = new HookResult
            {
                Reason = reply.Get<string>("Reason"), ModifiedArgs = reply.Get<string>("ModifiedArgs"),
                OutputMessage = reply.Get<string>("OutputMessage"),
                // A decision that there isn't is no allow.
                Decision = Equals(reply.Get<object>("Decision"), 0L) ? HookDecision.Allow
                    : Equals(reply.Get<object>("Decision"), 2L) ? HookDecision.Modify : HookDecision.Deny,
            };
            if (result.Decision == HookDecision.Modify) context.ToolArgs = result.ModifiedArgs ?? context.ToolArgs;
            return result;
        }
    }
}
