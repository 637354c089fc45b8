//! The AgentHook trait: every example of its document as Rust code, its rules by a model of them,
//! and the hooks of files beside.

use super::embed::before_amount;
use hookwire::agent_hook::*;
use hookwire::{Decision, Event, Host, Scope, async_trait};
use proptest::prelude::*;
use regex::Regex;
use serde_json::{Value, json};
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tokio::sync::{Mutex as AsyncMutex, mpsc};

fn input(message: &str) -> TurnInput {
    TurnInput {
        message: message.into(),
    }
}

fn aborted(hook: &str, reason: &str) -> ChainError {
    ChainError::Aborted {
        hook: hook.into(),
        reason: reason.into(),
    }
}

fn grant() -> ExecutionGrant {
    ExecutionGrant::default()
}

// ------------------------------------------------------------------------- the document's examples

#[derive(Clone, Default)]
struct Log(Arc<Mutex<Vec<String>>>);

impl Log {
    fn note(&self, line: impl Into<String>) {
        self.0.lock().unwrap().push(line.into());
    }

    fn take(&self) -> Vec<String> {
        std::mem::take(&mut self.0.lock().unwrap())
    }
}

struct AuditLogHook {
    logger: Log,
}

#[async_trait]
impl AgentHook for AuditLogHook {
    fn name(&self) -> &str {
        "audit-log"
    }

    fn priority(&self) -> u32 {
        50
    }

    async fn pre_turn(
        &self,
        _: &TurnInput,
        ctx: &HookContext,
    ) -> HookResult<HookAction<TurnInput>> {
        self.logger.note(format!(
            "turn_start session={} turn={}",
            ctx.session_id, ctx.turn_number
        ));
        Ok(HookAction::Continue)
    }
}

struct InputGuardrailHook {
    blocked_patterns: Vec<Regex>,
}

#[async_trait]
impl AgentHook for InputGuardrailHook {
    fn name(&self) -> &str {
        "input-guardrail"
    }

    fn priority(&self) -> u32 {
        10
    }

    async fn pre_turn(
        &self,
        input: &TurnInput,
        _ctx: &HookContext,
    ) -> HookResult<HookAction<TurnInput>> {
        for pattern in &self.blocked_patterns {
            if pattern.is_match(&input.message) {
                return Ok(HookAction::Reject(
                    "Message blocked by content policy".into(),
                ));
            }
        }
        Ok(HookAction::Continue)
    }
}

struct CostTrackingHook {
    cost_per_input_token: f64,
    cost_per_output_token: f64,
}

#[async_trait]
impl AgentHook for CostTrackingHook {
    fn name(&self) -> &str {
        "cost-tracker"
    }

    async fn post_llm_call(
        &self,
        response: &LlmResponse,
        ctx: &HookContext,
    ) -> HookResult<HookAction<LlmResponse>> {
        let cost = (response.usage.input_tokens as f64 * self.cost_per_input_token)
            + (response.usage.output_tokens as f64 * self.cost_per_output_token);
        let prev: f64 = ctx
            .state
            .get("total_cost")
            .and_then(|v| v.as_f64())
            .unwrap_or(0.0);
        ctx.state.set("total_cost", json!(prev + cost));
        Ok(HookAction::Continue)
    }
}

#[derive(Debug)]
struct ApprovalRequest {
    tool_name: String,
    args: Value,
}

enum ApprovalResponse {
    Approved,
    Denied(String),
    Modified(Value),
}

struct ApprovalHook {
    patterns: Vec<String>,
    approval_tx: mpsc::Sender<ApprovalRequest>,
    approval_rx: Arc<AsyncMutex<mpsc::Receiver<ApprovalResponse>>>,
}

impl ApprovalHook {
    fn requires_approval(&self, tool_name: &str) -> bool {
        self.patterns.iter().any(|pattern| pattern == tool_name)
    }

    async fn request_approval(
        &self,
        tool_name: &str,
        args: &Value,
    ) -> HookResult<ApprovalResponse> {
        let mut answers = self.approval_rx.lock().await;
        self.approval_tx
            .send(ApprovalRequest {
                tool_name: tool_name.into(),
                args: args.clone(),
            })
            .await?;
        answers
            .recv()
            .await
            .ok_or_else(|| HookError::new("get an approval: nobody is there to ask"))
    }
}

#[async_trait]
impl AgentHook for ApprovalHook {
    fn name(&self) -> &str {
        "human-approval"
    }

    fn priority(&self) -> u32 {
        5
    }

    fn fail_open(&self) -> bool {
        false
    }

    async fn pre_tool_call(
        &self,
        tool_name: &str,
        args: &Value,
        _: &ExecutionGrant,
        _: &HookContext,
    ) -> HookResult<HookAction<Value>> {
        if !self.requires_approval(tool_name) {
            return Ok(HookAction::Continue);
        }
        match self.request_approval(tool_name, args).await? {
            ApprovalResponse::Approved => Ok(HookAction::Continue),
            ApprovalResponse::Denied(reason) => Ok(HookAction::Reject(reason)),
            ApprovalResponse::Modified(new_args) => Ok(HookAction::Transform(new_args)),
        }
    }
}

#[tokio::test]
async fn audit_logging_and_an_input_guardrail() {
    let logger = Log::default();
    let chain = HookChain::new()
        .with(AuditLogHook {
            logger: logger.clone(),
        })
        .with(InputGuardrailHook {
            blocked_patterns: vec![Regex::new("(?i)credit card").unwrap()],
        });
    let ctx = HookContext {
        turn_number: 3,
        ..chain.context("s1")
    };
    assert_eq!(
        chain.run_pre_turn(input("hello"), &ctx).await,
        Ok(input("hello"))
    );
    assert_eq!(logger.take(), ["turn_start session=s1 turn=3"]);
    let refused = chain.run_pre_turn(input("my Credit Card"), &ctx).await;
    assert_eq!(
        refused,
        Err(aborted(
            "input-guardrail",
            "Message blocked by content policy"
        ))
    );
    assert_eq!(logger.take(), [""; 0], "the remaining hooks are skipped");
}

#[tokio::test]
async fn cost_tracking() {
    let chain = HookChain::new().with(CostTrackingHook {
        cost_per_input_token: 0.5,
        cost_per_output_token: 2.0,
    });
    let (ctx, other) = (chain.context("s1"), chain.context("s2"));
    let usage = Usage {
        input_tokens: 10,
        output_tokens: 3,
    };
    let response = LlmResponse {
        content: "hi".into(),
        usage,
        ..LlmResponse::default()
    };
    for _ in 0..2 {
        assert_eq!(
            chain.run_post_llm_call(response.clone(), &ctx).await,
            Ok(response.clone())
        );
    }
    assert_eq!(
        (ctx.state.get("total_cost"), other.state.get("total_cost")),
        (Some(json!(22.0)), None)
    );
    assert_eq!(
        chain.context("s1").state.get("total_cost"),
        Some(json!(22.0)),
        "the state is the session's"
    );
    // A context of one's own is passed through as it is.
    let own = HookContext::default();
    chain.run_post_llm_call(response, &own).await.unwrap();
    assert_eq!(own.state.get("total_cost"), Some(json!(11.0)));
}

#[tokio::test]
async fn human_in_the_loop() {
    let (approval_tx, mut requests) = mpsc::channel(1);
    let (answer, answers) = mpsc::channel(1);
    let patterns = vec!["bash".to_string()];
    let chain = HookChain::new().with(ApprovalHook {
        patterns,
        approval_tx,
        approval_rx: Arc::new(AsyncMutex::new(answers)),
    });
    let ctx = chain.context("s1");
    let call = |tool: &'static str| {
        let (chain, ctx) = (chain.clone(), ctx.clone());
        tokio::spawn(async move {
            chain
                .run_pre_tool_call(tool, json!({"command": "rm x"}), grant(), &ctx)
                .await
                .map(|it| it.args)
        })
    };
    assert_eq!(
        call("read").await.unwrap(),
        Ok(json!({"command": "rm x"})),
        "this tool needs none"
    );
    for (said, expected) in [
        (ApprovalResponse::Approved, Ok(json!({"command": "rm x"}))),
        (
            ApprovalResponse::Denied("not today".into()),
            Err(aborted("human-approval", "not today")),
        ),
        (
            ApprovalResponse::Modified(json!({"command": "ls"})),
            Ok(json!({"command": "ls"})),
        ),
    ] {
        let call = call("bash");
        let request = requests.recv().await.unwrap();
        assert_eq!(
            (&*request.tool_name, &request.args),
            ("bash", &json!({"command": "rm x"}))
        );
        answer.send(said).await.unwrap();
        assert_eq!(call.await.unwrap(), expected);
    }
    // An approval that fails blocks, and is told apart from a "no".
    drop(answer);
    let error = "failed to get an approval: nobody is there to ask".to_string();
    assert_eq!(
        call("bash").await.unwrap(),
        Err(ChainError::HookRejected {
            hook: "human-approval".into(),
            error
        })
    );
}

#[tokio::test]
async fn an_output_guardrail() {
    struct OutputGuardrail;
    #[async_trait]
    impl AgentHook for OutputGuardrail {
        fn name(&self) -> &str {
            "output-guardrail"
        }
        async fn post_llm_call(
            &self,
            response: &LlmResponse,
            _: &HookContext,
        ) -> HookResult<HookAction<LlmResponse>> {
            Ok(match &*response.content {
                text if text.contains("sk-live") => {
                    HookAction::Reject("a key in the response".into())
                }
                text if text.contains("damn") => HookAction::Transform(LlmResponse {
                    content: text.replace("damn", "****"),
                    ..response.clone()
                }),
                _ => HookAction::Continue,
            })
        }
    }
    let chain = HookChain::new().with(OutputGuardrail);
    let response = |content: &str| LlmResponse {
        content: content.into(),
        tool_calls: vec![json!({"name": "bash"})],
        extra: json!({"id": "r1"}).as_object().unwrap().clone(),
        ..LlmResponse::default()
    };
    let ctx = chain.context("s1");
    assert_eq!(
        chain.run_post_llm_call(response("fine"), &ctx).await,
        Ok(response("fine"))
    );
    assert_eq!(
        chain.run_post_llm_call(response("damn it"), &ctx).await,
        Ok(response("**** it"))
    );
    let refused = chain.run_post_llm_call(response("sk-live-1"), &ctx).await;
    assert_eq!(
        refused,
        Err(aborted("output-guardrail", "a key in the response"))
    );
}

#[tokio::test]
async fn tool_argument_rewriting() {
    struct Rewrite;
    #[async_trait]
    impl AgentHook for Rewrite {
        fn name(&self) -> &str {
            "timeouts"
        }
        async fn pre_tool_call(
            &self,
            tool_name: &str,
            args: &Value,
            grant: &ExecutionGrant,
            _: &HookContext,
        ) -> HookResult<HookAction<Value>> {
            let mut args = args.clone();
            args["timeout_ms"] = json!(grant.timeout_ms.unwrap_or(1000));
            Ok(if tool_name == "bash" {
                HookAction::Replace(args)
            } else {
                HookAction::Continue
            })
        }
    }
    let chain = HookChain::new().with(Rewrite);
    let ctx = chain.context("s1");
    let given = ExecutionGrant {
        timeout_ms: Some(50),
        sandbox: Some("none".into()),
        ..grant()
    };
    let granted = chain
        .run_pre_tool_call("bash", json!({"command": "ls"}), given.clone(), &ctx)
        .await
        .unwrap();
    assert_eq!(
        granted,
        Granted {
            args: json!({"command": "ls", "timeout_ms": 50}),
            grant: given
        }
    );
    let granted = chain
        .run_pre_tool_call("read", json!({"path": "x"}), grant(), &ctx)
        .await
        .unwrap();
    assert_eq!(granted.args, json!({"path": "x"}));
}

#[tokio::test]
async fn a_provider_fallback() {
    struct Fallback;
    #[async_trait]
    impl AgentHook for Fallback {
        fn name(&self) -> &str {
            "fallback"
        }
        async fn on_llm_error(
            &self,
            error: &ProviderError,
            attempt: usize,
            _: &HookContext,
        ) -> HookResult<HookAction<RetryDecision>> {
            Ok(match (error.status, attempt) {
                (Some(529), 1) => HookAction::Transform(RetryDecision::Retry {
                    after: error.retry_after.unwrap(),
                }),
                (Some(529), _) => HookAction::Replace(RetryDecision::Fallback {
                    model: "small".into(),
                }),
                (Some(401), _) => HookAction::Transform(RetryDecision::Fail),
                (Some(403), _) => HookAction::Reject("ask an administrator".into()),
                _ => HookAction::Continue,
            })
        }
    }
    let chain = HookChain::new().with(Fallback);
    let ctx = chain.context("s1");
    let after = Duration::from_millis(1500);
    for (status, attempt, expected) in [
        (529, 1, Ok(Some(RetryDecision::Retry { after }))),
        (
            529,
            2,
            Ok(Some(RetryDecision::Fallback {
                model: "small".into(),
            })),
        ),
        (401, 1, Ok(Some(RetryDecision::Fail))),
        (403, 1, Err(aborted("fallback", "ask an administrator"))),
        (500, 1, Ok(None)),
    ] {
        let error = ProviderError {
            message: "no".into(),
            status: Some(status),
            retry_after: Some(after),
            ..ProviderError::default()
        };
        assert_eq!(
            chain.run_on_llm_error(&error, attempt, &ctx).await,
            expected,
            "{status}"
        );
    }
}

// ------------------------------------------------------------------------------- the other methods

/// Notes every method with its arguments, in the words of the document.
struct Every {
    name: &'static str,
    priority: u32,
    log: Log,
    recovers: bool,
}

#[async_trait]
impl AgentHook for Every {
    fn name(&self) -> &str {
        self.name
    }
    fn priority(&self) -> u32 {
        self.priority
    }
    async fn on_session_start(&self, _: &HookContext) -> HookResult<()> {
        self.log.note(format!("{} on_session_start", self.name));
        Ok(())
    }
    async fn on_session_end(&self, _: &HookContext) -> HookResult<()> {
        self.log.note(format!("{} on_session_end", self.name));
        Ok(())
    }
    async fn pre_turn(
        &self,
        input: &TurnInput,
        ctx: &HookContext,
    ) -> HookResult<HookAction<TurnInput>> {
        let HookContext {
            session_id,
            turn_number,
            step_number,
            core_type,
            ..
        } = ctx;
        self.log.note(format!(
            "{} pre_turn {} {session_id}/{turn_number}/{step_number}/{core_type}",
            self.name, input.message
        ));
        Ok(HookAction::Continue)
    }
    async fn post_turn(
        &self,
        input: &TurnInput,
        output: &TurnOutput,
        _: &HookContext,
    ) -> HookResult<HookAction<TurnOutput>> {
        self.log.note(format!(
            "{} post_turn {} {}",
            self.name, input.message, output.message
        ));
        Ok(HookAction::Continue)
    }
    async fn on_turn_error(
        &self,
        input: &TurnInput,
        error: &AgentError,
        _: &HookContext,
    ) -> HookResult<HookAction<TurnOutput>> {
        self.log.note(format!(
            "{} on_turn_error {} {error}",
            self.name, input.message
        ));
        let output = TurnOutput {
            message: "sorry".into(),
            usage: None,
        };
        Ok(if self.recovers {
            HookAction::Replace(output)
        } else {
            HookAction::Continue
        })
    }
    async fn pre_llm_call(
        &self,
        messages: &[ChatMessage],
        tools: &[ToolMeta],
        _: &HookContext,
    ) -> HookResult<HookAction<LlmCallInput>> {
        self.log.note(format!(
            "{} pre_llm_call {} {}",
            self.name,
            messages[0].text(),
            tools[0].name
        ));
        let messages = [&[ChatMessage::new("system", self.name)], messages].concat();
        Ok(HookAction::Transform(LlmCallInput {
            messages,
            tools: tools.to_vec(),
            ..LlmCallInput::default()
        }))
    }
    async fn post_tool_call(
        &self,
        tool_name: &str,
        args: &Value,
        result: &Result<DispatchResult, String>,
        elapsed: Duration,
        _: &HookContext,
    ) -> HookResult<HookAction<DispatchResult>> {
        let told = match result {
            Ok(result) => format!("Ok {} {}", result.success, result.output),
            Err(error) => format!("Err {error}"),
        };
        self.log.note(format!(
            "{} post_tool_call {tool_name} {args} {told} {elapsed:?}",
            self.name
        ));
        let recovered = HookAction::Transform(DispatchResult::failed("recovered"));
        Ok(if self.recovers && result.is_err() {
            recovered
        } else {
            HookAction::Continue
        })
    }
    async fn pre_compaction(
        &self,
        messages: &[ChatMessage],
        budget: &TokenBudget,
        _: &HookContext,
    ) -> HookResult<HookAction<CompactionHint>> {
        self.log.note(format!(
            "{} pre_compaction {} {}/{}",
            self.name,
            messages.len(),
            budget.used_tokens,
            budget.max_tokens
        ));
        Ok(HookAction::Transform(CompactionHint {
            keep_last: Some(self.priority as usize),
            ..CompactionHint::default()
        }))
    }
    async fn post_compaction(
        &self,
        removed_count: usize,
        summary: &str,
        _: &HookContext,
    ) -> HookResult<()> {
        self.log.note(format!(
            "{} post_compaction {removed_count} {summary}",
            self.name
        ));
        Ok(())
    }
}

#[tokio::test]
async fn every_method_gets_its_arguments_in_order() {
    let log = Log::default();
    let hook = |name, priority, recovers| Every {
        name,
        priority,
        log: log.clone(),
        recovers,
    };
    let chain = HookChain::new()
        .with(hook("b", 100, true))
        .with(hook("c", 100, false))
        .with(hook("a", 1, false));
    let ctx = HookContext {
        turn_number: 2,
        step_number: 4,
        core_type: "react".into(),
        ..chain.context("s")
    };
    let notes = |expected: &[&str]| assert_eq!(log.take(), expected);
    chain.run_on_session_start(&ctx).await.unwrap();
    notes(&[
        "a on_session_start",
        "b on_session_start",
        "c on_session_start",
    ]);
    chain.run_pre_turn(input("hi"), &ctx).await.unwrap();
    notes(&[
        "a pre_turn hi s/2/4/react",
        "b pre_turn hi s/2/4/react",
        "c pre_turn hi s/2/4/react",
    ]);

    let tool = ToolMeta {
        name: "bash".into(),
        description: "a shell".into(),
        parameters: json!({"type": "object"}),
        ..ToolMeta::default()
    };
    let request = chain
        .run_pre_llm_call(
            vec![ChatMessage::new("user", "hi")],
            vec![tool.clone()],
            &ctx,
        )
        .await
        .unwrap();
    notes(&[
        "a pre_llm_call hi bash",
        "b pre_llm_call a bash",
        "c pre_llm_call b bash",
    ]);
    assert_eq!(
        request
            .messages
            .iter()
            .map(ChatMessage::text)
            .collect::<Vec<_>>(),
        ["c", "b", "a", "hi"]
    );
    assert_eq!(request.tools, [tool]);

    let (args, elapsed) = (json!({"command": "ls"}), Duration::from_millis(250));
    let result = chain
        .run_post_tool_call("bash", &args, Ok(DispatchResult::ok("x")), elapsed, &ctx)
        .await
        .unwrap();
    assert_eq!(result, Ok(DispatchResult::ok("x")));
    let told = r#"post_tool_call bash {"command":"ls"} Ok true "x" 250ms"#;
    notes(
        &["c", "b", "a"]
            .map(|hook| format!("{hook} {told}"))
            .each_ref()
            .map(|it| &**it),
    );
    let result = chain
        .run_post_tool_call("bash", &args, Err("exit 1".into()), elapsed, &ctx)
        .await
        .unwrap();
    assert_eq!(result, Ok(DispatchResult::failed("recovered")));
    notes(&[
        r#"c post_tool_call bash {"command":"ls"} Err exit 1 250ms"#,
        r#"b post_tool_call bash {"command":"ls"} Err exit 1 250ms"#,
        r#"a post_tool_call bash {"command":"ls"} Ok false null 250ms"#,
    ]);

    let budget = TokenBudget {
        max_tokens: 100,
        used_tokens: 90,
    };
    let hint = chain
        .run_pre_compaction(&[ChatMessage::new("user", "hi")], &budget, &ctx)
        .await
        .unwrap()
        .unwrap();
    assert_eq!(hint.keep_last, Some(100));
    notes(&[
        "a pre_compaction 1 90/100",
        "b pre_compaction 1 90/100",
        "c pre_compaction 1 90/100",
    ]);
    chain.run_post_compaction(7, "short", &ctx).await.unwrap();
    notes(&[
        "c post_compaction 7 short",
        "b post_compaction 7 short",
        "a post_compaction 7 short",
    ]);

    let output = TurnOutput {
        message: "bye".into(),
        usage: Some(Usage {
            input_tokens: 1,
            output_tokens: 2,
        }),
    };
    assert_eq!(
        chain
            .run_post_turn(&input("hi"), output.clone(), &ctx)
            .await,
        Ok(output)
    );
    notes(&[
        "c post_turn hi bye",
        "b post_turn hi bye",
        "a post_turn hi bye",
    ]);
    let error = AgentError {
        message: "broken".into(),
        kind: None,
    };
    let output = chain
        .run_on_turn_error(&input("hi"), &error, &ctx)
        .await
        .unwrap()
        .unwrap();
    assert_eq!(output.message, "sorry");
    notes(&["c on_turn_error hi broken", "b on_turn_error hi broken"]);
    chain.run_on_session_end(&ctx).await.unwrap();
    notes(&["c on_session_end", "b on_session_end", "a on_session_end"]);
}

/// Fails wherever it is asked.
struct Fails(bool);

#[async_trait]
impl AgentHook for Fails {
    fn name(&self) -> &str {
        "fails"
    }
    fn fail_open(&self) -> bool {
        self.0
    }
    async fn on_session_start(&self, _: &HookContext) -> HookResult<()> {
        Err(HookError::new("connect"))
    }
    async fn on_session_end(&self, _: &HookContext) -> HookResult<()> {
        Err(HookError::new("connect"))
    }
    async fn post_compaction(&self, _: usize, _: &str, _: &HookContext) -> HookResult<()> {
        Err(HookError::new("connect"))
    }
}

#[tokio::test]
async fn a_method_without_an_action_aborts_by_failing() {
    let refused = Err(ChainError::HookRejected {
        hook: "fails".into(),
        error: "failed to connect".into(),
    });
    for (fail_open, expected) in [(true, Ok(())), (false, refused)] {
        let chain = HookChain::new().with(Fails(fail_open));
        assert_eq!(chain.host().diagnostics(), [""; 0]);
        let ctx = chain.context("s");
        assert_eq!(chain.run_on_session_start(&ctx).await, expected);
        assert_eq!(chain.run_on_session_end(&ctx).await, expected);
        assert_eq!(chain.run_post_compaction(1, "s", &ctx).await, expected);
    }
}

#[tokio::test]
async fn a_name_twice_is_two_hooks() {
    struct Strict;
    #[async_trait]
    impl AgentHook for Strict {
        fn name(&self) -> &str {
            "fails"
        }
        fn fail_open(&self) -> bool {
            false
        }
    }
    let chain = HookChain::new().with(Fails(true)).with(Strict);
    assert_eq!(chain.run_on_session_end(&chain.context("s")).await, Ok(()));
}

#[tokio::test]
async fn a_timeout_is_an_error() {
    struct Hangs(bool);
    #[async_trait]
    impl AgentHook for Hangs {
        fn name(&self) -> &str {
            "hangs"
        }
        fn fail_open(&self) -> bool {
            self.0
        }
        fn timeout(&self) -> Duration {
            Duration::from_millis(20)
        }
        async fn pre_turn(
            &self,
            _: &TurnInput,
            _: &HookContext,
        ) -> HookResult<HookAction<TurnInput>> {
            std::future::pending().await
        }
    }
    for fail_open in [true, false] {
        let chain = HookChain::new().with(Hangs(fail_open));
        let result = chain.run_pre_turn(input("hi"), &chain.context("s")).await;
        match result {
            Ok(turn) => assert_eq!((fail_open, turn), (true, input("hi"))),
            Err(ChainError::HookRejected { hook, error }) => {
                assert_eq!((fail_open, &*hook), (false, "hangs"));
                // A busy machine is late, and says by how much.
                assert_eq!(before_amount(&error), "failed to finish within its timeout");
            }
            Err(other) => panic!("{other:?}"),
        }
    }
}

// ------------------------------------------------------------------------------ events and sharing

#[tokio::test]
async fn events_cost_nothing_without_a_listener() {
    struct Tells(Log);
    #[async_trait]
    impl AgentHook for Tells {
        fn name(&self) -> &str {
            "tells"
        }
        async fn pre_turn(
            &self,
            input: &TurnInput,
            ctx: &HookContext,
        ) -> HookResult<HookAction<TurnInput>> {
            ctx.events.emit(|| {
                self.0.note("made");
                AgentEvent::new("turn_started", json!({"message": input.message}))
            });
            Ok(HookAction::Continue)
        }
    }
    let log = Log::default();
    let chain = HookChain::new().with(Tells(log.clone()));
    let ctx = chain.context("s");
    chain.run_pre_turn(input("hi"), &ctx).await.unwrap();
    assert_eq!(log.take(), [""; 0]);
    let mut heard = chain.host().events().subscribe();
    chain.run_pre_turn(input("hi"), &ctx).await.unwrap();
    assert_eq!(
        heard.recv().await.unwrap(),
        AgentEvent::new("turn_started", json!({"message": "hi"}))
    );
    assert_eq!(log.take(), ["made"]);
}

#[tokio::test]
async fn files_and_the_trait_judge_the_same_event() {
    let dir = tempfile::tempdir().unwrap();
    let yaml = r#"
dialect: agent-hook-trait
hooks:
  - name: first
    on: pre_turn
    priority: 1
    script: |
      return { action: "Transform", value: { message: event.input.message + " first" } };
  - name: last
    on: pre_turn
    priority: 200
    when: prompt.contains("stop")
    script: |
      return { action: "Reject", reason: "from a file, in turn " + event.ctx.turn_number };
  - name: native
    dialect: native
    on: UserPromptSubmit
    deny: not this
  - name: cost
    dialect: native
    on: PostModelCall
    guard: { token-limit: { max: 12, per: session } }
"#;
    std::fs::write(dir.path().join("hooks.yaml"), yaml).unwrap();
    struct Adds;
    #[async_trait]
    impl AgentHook for Adds {
        fn name(&self) -> &str {
            "adds"
        }
        async fn pre_turn(
            &self,
            input: &TurnInput,
            ctx: &HookContext,
        ) -> HookResult<HookAction<TurnInput>> {
            ctx.state.update("turns", |n| {
                json!(n.and_then(Value::as_u64).unwrap_or(0) + 1)
            })?;
            Ok(HookAction::Transform(TurnInput {
                message: format!("{} trait", input.message),
            }))
        }
    }
    let host = Host::builder()
        .root(dir.path())
        .hooks(dir.path())
        .agent_hook(Adds)
        .build()
        .unwrap();
    assert_eq!(host.diagnostics(), [""; 0]);
    let chain = host.chain();
    let ctx = HookContext {
        turn_number: 3,
        ..chain.context("s")
    };
    assert_eq!(
        chain.run_pre_turn(input("hi"), &ctx).await,
        Ok(input("hi first trait"))
    );
    let refused = chain.run_pre_turn(input("stop"), &ctx).await;
    assert_eq!(refused, Err(aborted("last", "from a file, in turn 3")));
    // A guard of hookwire's own ends the run.
    let usage = Usage {
        input_tokens: 10,
        output_tokens: 3,
    };
    let refused = chain
        .run_post_llm_call(
            LlmResponse {
                usage,
                ..LlmResponse::default()
            },
            &ctx,
        )
        .await
        .unwrap_err();
    assert!(
        matches!(&refused, ChainError::Aborted { reason, .. } if reason.contains("13/12")),
        "{refused}"
    );

    // The same hooks judge what comes in another system's words, and a wire client's.
    let payload =
        json!({"method": "pre_turn", "input": {"message": "hi"}, "ctx": {"session_id": "s"}});
    let reply = host
        .dispatch_as("agent-hook-trait", payload)
        .await
        .unwrap()
        .reply;
    assert_eq!(
        reply,
        json!({"action": "Transform", "value": {"message": "hi first trait"}})
    );
    let native = json!({"event": "RunStart", "session": "s", "prompt": "hi"});
    let verdict = host
        .dispatch(hookwire::Event::from_json(native).unwrap())
        .await;
    assert_eq!(
        (verdict.decision, verdict.subject),
        (Decision::Allow, Some(json!("hi first trait")))
    );
    assert_eq!(ctx.state.get("turns"), Some(json!(4)));
}

// -------------------------------------------------------------------------------- the rules, by
// model

#[derive(Clone, Debug)]
enum Does {
    Continue,
    Transform,
    Reject,
    Replace,
    Fail,
}

/// A hook that appends its name to the value, if it makes one.
#[derive(Clone, Debug)]
struct Scripted {
    name: String,
    priority: u32,
    fail_open: bool,
    does: Does,
    log: Logged,
}

#[derive(Clone, Debug, Default)]
struct Logged(Arc<Mutex<Vec<String>>>);

impl Scripted {
    fn act<T>(&self, value: &str, make: impl Fn(String) -> T) -> HookResult<HookAction<T>> {
        self.log
            .0
            .lock()
            .unwrap()
            .push(format!("{} saw {value}", self.name));
        let made = || make(format!("{value}{}", self.name));
        Ok(match self.does {
            Does::Continue => HookAction::Continue,
            Does::Transform => HookAction::Transform(made()),
            Does::Reject => HookAction::Reject(format!("no by {}", self.name)),
            Does::Replace => HookAction::Replace(made()),
            Does::Fail => return Err(HookError::new("do it")),
        })
    }
}

#[async_trait]
impl AgentHook for Scripted {
    fn name(&self) -> &str {
        &self.name
    }
    fn priority(&self) -> u32 {
        self.priority
    }
    fn fail_open(&self) -> bool {
        self.fail_open
    }
    async fn pre_turn(
        &self,
        input: &TurnInput,
        _: &HookContext,
    ) -> HookResult<HookAction<TurnInput>> {
        self.act(&input.message, |message| TurnInput { message })
    }
    async fn post_turn(
        &self,
        _: &TurnInput,
        output: &TurnOutput,
        _: &HookContext,
    ) -> HookResult<HookAction<TurnOutput>> {
        self.act(&output.message, |message| TurnOutput {
            message,
            usage: None,
        })
    }
    async fn pre_tool_call(
        &self,
        _: &str,
        args: &Value,
        _: &ExecutionGrant,
        _: &HookContext,
    ) -> HookResult<HookAction<Value>> {
        self.act(args["x"].as_str().unwrap(), |text| json!({ "x": text }))
    }
    async fn on_llm_error(
        &self,
        _: &ProviderError,
        _: usize,
        _: &HookContext,
    ) -> HookResult<HookAction<RetryDecision>> {
        self.act("", |model| RetryDecision::Fallback { model })
    }
}

/// The document's rules, as plainly as can be. `sees` says whether a hook is given the value so
/// far.
fn model(hooks: &[Scripted], after: bool, sees: bool) -> (Result<String, ChainError>, Vec<String>) {
    let mut order: Vec<&Scripted> = hooks.iter().collect();
    order.sort_by_key(|hook| hook.priority);
    if after {
        order.reverse();
    }
    let (mut value, mut log) = (String::new(), Vec::new());
    for hook in order {
        let given = if sees { value.clone() } else { String::new() };
        log.push(format!("{} saw {given}", hook.name));
        match hook.does {
            Does::Continue => {}
            Does::Transform => value = given + &hook.name,
            Does::Replace => return (Ok(given + &hook.name), log),
            Does::Reject => {
                return (
                    Err(aborted(&hook.name, &format!("no by {}", hook.name))),
                    log,
                );
            }
            Does::Fail if hook.fail_open => {}
            Does::Fail => {
                let (hook, error) = (hook.name.clone(), "failed to do it".to_string());
                return (Err(ChainError::HookRejected { hook, error }), log);
            }
        }
    }
    (Ok(value), log)
}

fn scripted() -> impl Strategy<Value = Vec<Scripted>> {
    use Does::{Continue, Fail, Reject, Replace, Transform};
    let does = proptest::sample::select(vec![
        Continue, Transform, Transform, Transform, Reject, Replace, Fail, Fail,
    ]);
    let hook = (0..4u32, any::<bool>(), does);
    proptest::collection::vec(hook, 0..7).prop_map(|hooks| {
        let log = Logged::default();
        let named = hooks.into_iter().enumerate();
        named
            .map(|(n, (priority, fail_open, does))| Scripted {
                name: ((b'a' + n as u8) as char).to_string(),
                priority,
                fail_open,
                does,
                log: log.clone(),
            })
            .collect()
    })
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(300) })]

    #[test]
    fn the_chain_keeps_the_documents_rules(hooks in scripted()) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let chain = HookChain::new();
        hooks.iter().for_each(|hook| chain.add(Arc::new(hook.clone())));
        let ctx = chain.context("s");
        let took = || hooks.first().map(|hook| std::mem::take(&mut *hook.log.0.lock().unwrap())).unwrap_or_default();
        let ran = runtime.block_on(chain.run_pre_turn(TurnInput::default(), &ctx)).map(|it| it.message);
        prop_assert_eq!((ran, took()), model(&hooks, false, true));
        let ran = runtime.block_on(chain.run_pre_tool_call("t", json!({"x": ""}), grant(), &ctx));
        let ran = ran.map(|it| it.args["x"].as_str().unwrap().to_string());
        prop_assert_eq!((ran, took()), model(&hooks, false, true));
        let output = TurnOutput::default();
        let ran = runtime.block_on(chain.run_post_turn(&TurnInput::default(), output, &ctx)).map(|it| it.message);
        prop_assert_eq!((ran, took()), model(&hooks, true, true));
        let ran = runtime.block_on(chain.run_on_llm_error(&ProviderError::default(), 1, &ctx));
        let ran = ran.map(|it| match it {
            None => String::new(),
            Some(RetryDecision::Fallback { model }) => model,
            Some(other) => format!("{other:?}"),
        });
        prop_assert_eq!((ran, took()), model(&hooks, true, false));
    }
}

/// Tells what it sees, and rejects what has a key in it.
struct Guard(Log);

impl Guard {
    fn judge<T>(&self, text: &str) -> HookResult<HookAction<T>> {
        self.0.note(text);
        Ok(if text.contains("sk-") {
            HookAction::Reject("a key".into())
        } else {
            HookAction::Continue
        })
    }
}

#[async_trait]
impl AgentHook for Guard {
    fn name(&self) -> &str {
        "guard"
    }
    async fn pre_turn(
        &self,
        input: &TurnInput,
        _: &HookContext,
    ) -> HookResult<HookAction<TurnInput>> {
        self.judge(&input.message)
    }
    async fn post_turn(
        &self,
        _: &TurnInput,
        o: &TurnOutput,
        _: &HookContext,
    ) -> HookResult<HookAction<TurnOutput>> {
        self.judge(&o.message)
    }
    async fn post_llm_call(
        &self,
        response: &LlmResponse,
        _: &HookContext,
    ) -> HookResult<HookAction<LlmResponse>> {
        self.judge(&format!(
            "{}/{}",
            response.content,
            json!(response.tool_calls)
        ))
    }
    async fn post_tool_call(
        &self,
        _: &str,
        _: &Value,
        result: &Result<DispatchResult, String>,
        _: Duration,
        _: &HookContext,
    ) -> HookResult<HookAction<DispatchResult>> {
        self.judge(&json!(result).to_string())
    }
}

#[tokio::test]
async fn a_guard_sees_what_providers_and_other_systems_give() {
    let log = Log::default();
    let host = Host::builder()
        .agent_hook(Guard(log.clone()))
        .build()
        .unwrap();
    let blocks = |text: &str| json!([{"type": "text", "text": text}, {"type": "image"}, {"type": "tool_use", "name": "t"}]);
    let response =
        |response: Value| json!({"event": "PostModelCall", "model": {"response": response}});
    let output = |output: Value| json!({"event": "PostToolUse", "tool": {"name": "q", "input": {}, "output": output}});
    for (event, sees) in [
        (
            response(json!({"content": null, "tool_calls": [{"name": "sk-"}]})),
            r#"/[{"name":"sk-"}]"#,
        ),
        (
            response(json!({"content": "sk-", "tool_calls": null, "usage": null})),
            "sk-/[]",
        ),
        (
            response(json!({"content": blocks("sk-")})),
            r#"sk-/[{"name":"t","type":"tool_use"}]"#,
        ),
        (response(json!("sk-")), "sk-/[]"),
        (json!({"event": "RunStart", "prompt": blocks("sk-")}), "sk-"),
        (
            json!({"event": "RunEnd", "prompt": null, "result": blocks("sk-")}),
            "sk-",
        ),
        (
            output(json!({"success": true, "rows": ["sk-"]})),
            r#"{"Ok":{"output":{"rows":["sk-"],"success":true},"success":true}}"#,
        ),
        (
            output(json!({"success": true, "output": 1, "x": "sk-"})),
            r#"{"Ok":{"output":{"output":1,"success":true,"x":"sk-"},"success":true}}"#,
        ),
        (
            output(json!({"success": false, "output": "sk-"})),
            r#"{"Ok":{"output":"sk-","success":false}}"#,
        ),
    ] {
        let verdict = host
            .dispatch(Event::from_json(event.clone()).unwrap())
            .await;
        assert_eq!(
            (verdict.decision, verdict.outcomes[0].error.as_deref()),
            (Decision::Deny, None),
            "{event}"
        );
        assert_eq!(log.take(), [sees]);
    }
}

#[tokio::test]
async fn a_wait_is_neither_lost_nor_shortened() {
    struct Waits(Duration);
    #[async_trait]
    impl AgentHook for Waits {
        fn name(&self) -> &str {
            "waits"
        }
        async fn on_llm_error(
            &self,
            _: &ProviderError,
            _: usize,
            _: &HookContext,
        ) -> HookResult<HookAction<RetryDecision>> {
            Ok(HookAction::Transform(RetryDecision::Retry {
                after: self.0,
            }))
        }
    }
    let forever = Duration::from_millis(u64::MAX);
    for (asked, expected) in [
        (Duration::ZERO, Duration::ZERO),
        (Duration::from_micros(400), Duration::from_millis(1)),
        (Duration::from_millis(1100), Duration::from_millis(1100)),
        (
            Duration::from_secs(2_000_000_000),
            Duration::from_secs(2_000_000_000),
        ),
        (Duration::MAX, forever),
    ] {
        let chain = HookChain::new().with(Waits(asked));
        let told = chain
            .run_on_llm_error(&ProviderError::default(), 1, &chain.context("s"))
            .await
            .unwrap();
        let Some(RetryDecision::Retry { after }) = told else {
            panic!("{told:?}")
        };
        assert_eq!(after.as_secs_f64(), expected.as_secs_f64());
    }
}

#[tokio::test]
async fn a_session_without_a_name_has_the_global_values() {
    let host = Host::builder()
        .on("Stop", "sets", |event| async move {
            event.set_state("k", json!(1))
        })
        .build()
        .unwrap();
    host.dispatch(Event::from_json(json!({"event": "Stop"})).unwrap())
        .await;
    let state = host.chain().context("").state;
    assert_eq!(
        (state.get("k"), host.state().get(&Scope::Global, "k")),
        (Some(json!(1)), Some(json!(1)))
    );
    assert_eq!(
        (state.remove("k"), state.remove("k"), state.get("k")),
        (true, false, None)
    );
}
