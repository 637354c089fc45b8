# A Homebrew formula. SHA256 is the sum of its source archive. Not yet run: there is no
# release and no Homebrew where it was written.
class Hookwire < Formula
  desc "Hook host for AI agents: lifecycle events in over JSON-RPC, one verdict out"
  homepage "https://github.com/hookwire/hookwire"
  url "https://github.com/hookwire/hookwire/archive/refs/tags/v0.1.0.tar.gz"
  sha256 "SHA256"
  license any_of: ["MIT", "Apache-2.0"]

  depends_on "rust" => :build

  def install
    system "cargo", "install", "--profile", "dist", *std_cargo_args
    system bin/"hookwire", "generate", "share", buildpath/"share"
    man1.install Dir["share/man/man1/*"]
    bash_completion.install "share/bash-completion/completions/hookwire"
    zsh_completion.install "share/zsh/site-functions/_hookwire"
    fish_completion.install "share/fish/vendor_completions.d/hookwire.fish"
  end

  test do
    event = '{"jsonrpc":"2.0","id":1,"method":"hooks/dispatch","params":{"event":"Stop"}}'
    assert_match '"decision":"allow"', pipe_output("#{bin}/hookwire serve --isolated --no-share", "#{event}\n")
  end
end
