mod support;
use support::*;

#[test]
fn a_deny_and_no_opinion() {
    let (mut host, _dir) = TestHost::with("hooks: [{ name: no-push, on: PreToolUse, if: Bash(git push*), deny: no }]");
    assert_eq!(brief(&host.bash("npm test && git push")), "deny by no-push: no");
    assert_eq!(brief(&host.bash("ls")), "allow");
}
