"""pytest-lsp: an ordinary LSP client that was not written here. Its types, those of lsprotocol, hold
each reply against LSP, and it warns of what the editor that it plays can't take.

    python test_lsp.py
"""

import asyncio
import os
import pathlib
import sys
from importlib.metadata import version

import pytest
import pytest_lsp
from lsprotocol import types as lsp
from pygls.protocol import default_converter
from pytest_lsp import ClientServerConfig, LanguageClient, client_capabilities
from pytest_lsp.client import DEFAULT_CLIENT_FEATURES, register_lsp_features

PROJECT = pathlib.Path(os.environ["PROJECT"])
PATIENCE = 10
EDITORS = ["visual-studio-code", "neovim", "emacs"]

# One hook a format. `«»` is around the name, the event is the first text in quotes or after `on: `.
HOOKS = {
    "a.yaml": "hooks:\n# é😀\n- {name: «é😀-guard», on: PreToolUse, if: 'Bash(git push*)', deny: no}\n",
    "a.toml": "# é😀\n[[hooks]]\nname = '«é😀-guard»'\non = 'PreToolUse'\nif = 'Bash(git push*)'\ndeny = 'no'\n",
    "a.json": '{"hooks": [{"name": "«é😀-guard»", "on": "PreToolUse", "if": "Bash(git push*)", "deny": "no"}]}',
}
every_format = pytest.mark.parametrize("name", HOOKS)


def keep(client: LanguageClient, params: lsp.PublishDiagnosticsParams):
    # Waiting for the next notification would lose one that comes in the same read.
    client.told.put_nowait(params)


def make_client():
    client = LanguageClient(converter_factory=default_converter)
    client.told = asyncio.Queue()
    features = {**DEFAULT_CLIENT_FEATURES, lsp.TEXT_DOCUMENT_PUBLISH_DIAGNOSTICS: keep}
    # Told to draw these again, it has nothing to do.
    for method in [lsp.WORKSPACE_CODE_LENS_REFRESH, lsp.WORKSPACE_INLAY_HINT_REFRESH]:
        features[method] = lambda _: None
    register_lsp_features(client, features)
    return client


@pytest_lsp.fixture(
    params=EDITORS,
    config=ClientServerConfig(server_command=["hookwire", "serve"], client_factory=make_client),
)
async def client(request, lsp_client: LanguageClient):
    params = lsp.InitializeParams(
        capabilities=client_capabilities(request.param),
        root_uri=PROJECT.as_uri(),
        workspace_folders=[lsp.WorkspaceFolder(uri=PROJECT.as_uri(), name="project")],
    )
    lsp_client.initialized = await lsp_client.initialize_session(params)
    yield
    await lsp_client.shutdown_session()


def width(client, text):
    encoding = client.initialized.capabilities.position_encoding or "utf-16"
    return len(text.encode()) if encoding == "utf-8" else len(text.encode("utf-16-le")) // 2


def position(client, text, at):
    """Where the editor says a character is."""
    before = text[:at]
    return lsp.Position(before.count("\n"), width(client, before.rpartition("\n")[2]))


def offset(client, text, place):
    """Which character the server means; it has to be one."""
    lines = text.split("\n")
    start = sum(len(line) + 1 for line in lines[: place.line])
    widths = [width(client, lines[place.line][:n]) for n in range(len(lines[place.line]) + 1)]
    return start + widths.index(place.character)


def covered(client, text, span):
    return text[offset(client, text, span.start) : offset(client, text, span.end)]


def edited(client, text, edits):
    spans = [(offset(client, text, it.range.start), offset(client, text, it.range.end), it.new_text) for it in edits]
    for start, end, new in sorted(spans, reverse=True):
        text = text[:start] + new + text[end:]
    return text


def uri_of(name):
    return (PROJECT / ".hookwire" / name).as_uri()


def document(name):
    return lsp.TextDocumentIdentifier(uri_of(name))


async def diagnostics(client, name, version):
    async with asyncio.timeout(PATIENCE):
        while True:
            told = await client.told.get()
            if told.uri == uri_of(name) and told.version == version:
                return told.diagnostics


async def opened(client, name, text):
    """Opens an unsaved file and gives its diagnostics."""
    item = lsp.TextDocumentItem(uri_of(name), pathlib.Path(name).suffix[1:], 1, text)
    client.text_document_did_open(lsp.DidOpenTextDocumentParams(item))
    return await diagnostics(client, name, 1)


async def opened_at(client, name, text, mark="|"):
    """Opens a text with a mark in it, without the mark, and gives both."""
    at = text.index(mark)
    text = text.replace(mark, "")
    await opened(client, name, text)
    return text, position(client, text, at)


def unmarked(name):
    return HOOKS[name].replace("«", "").replace("»", "")


@every_format
@pytest.mark.asyncio
async def test_a_mistake_has_its_place(client, name):
    text = unmarked(name).replace("PreToolUse", "PreTolUse")
    [found] = await opened(client, name, text)
    assert (found.code, found.source, found.severity) == ("unknown-event", "hookwire", lsp.DiagnosticSeverity.Error)
    assert covered(client, text, found.range).strip("'\"") == "PreTolUse"
    # Only what is missing is typed.
    place = position(client, text, text.index("lUse"))
    change = lsp.TextDocumentContentChangePartial(range=lsp.Range(place, place), text="o")
    identifier = lsp.VersionedTextDocumentIdentifier(2, uri_of(name))
    client.text_document_did_change(lsp.DidChangeTextDocumentParams(identifier, [change]))
    assert not await diagnostics(client, name, 2)


@every_format
@pytest.mark.asyncio
async def test_completion_gives_the_event(client, name):
    marked = unmarked(name).replace("PreToolUse", "PreToolU|")
    text, place = await opened_at(client, name, marked)
    params = lsp.CompletionParams(document(name), place)
    found = await client.text_document_completion_async(params)
    items = found.items if isinstance(found, lsp.CompletionList) else found
    [item] = [it for it in items if it.label == "PreToolUse"]
    assert edited(client, text, [item.text_edit]) == unmarked(name)


@every_format
@pytest.mark.asyncio
async def test_hover_tells_what_a_field_means(client, name):
    key = {"a.yaml": " on:", "a.toml": "\non ", "a.json": '"on"'}[name]
    marked = unmarked(name).replace(key, f"{key[0]}|{key[1:]}")
    text, place = await opened_at(client, name, marked)
    found = await client.text_document_hover_async(lsp.HoverParams(document(name), place))
    assert "event" in found.contents.value.lower()
    assert covered(client, text, found.range).strip('"') == "on"


@every_format
@pytest.mark.asyncio
async def test_a_lens_runs_the_hook(client, name):
    await opened(client, name, unmarked(name))
    params = lsp.CodeLensParams(document(name))

    async def lens(part):
        # The agent's host has been there for long, but the server has only just been started.
        async with asyncio.timeout(PATIENCE):
            while True:
                lenses = await client.text_document_code_lens_async(params)
                for it in lenses:
                    if part in it.command.title:
                        assert covered(client, unmarked(name), it.range) in unmarked(name)
                        return it.command
                await asyncio.sleep(0.005)

    command = await lens("run on last PreToolUse")
    assert command.command in client.initialized.capabilities.execute_command_provider.commands
    execute = lsp.ExecuteCommandParams(command.command, arguments=command.arguments)
    result = await client.workspace_execute_command_async(execute)
    assert (result["hook"], result["event"], result["from"], result["ran"]) == ("é😀-guard", "PreToolUse", "live", True)
    assert result["decision"] == "deny"
    await lens("deny: no")
    assert any("deny: no" in message.message for message in client.messages)


@every_format
@pytest.mark.asyncio
async def test_a_hook_is_renamed(client, name):
    text = unmarked(name)
    _, place = await opened_at(client, name, HOOKS[name].replace("»", ""), mark="«")
    prepared = await client.text_document_prepare_rename_async(lsp.PrepareRenameParams(document(name), place))
    span = prepared if isinstance(prepared, lsp.Range) else prepared.range
    assert covered(client, text, span) == "é😀-guard"
    params = lsp.RenameParams(document(name), place, "ü-guard")
    found = await client.text_document_rename_async(params)
    edits = (found.changes or {}).get(uri_of(name))
    if edits is None:
        [edits] = [it.edits for it in found.document_changes if it.text_document.uri == uri_of(name)]
    assert edited(client, text, edits) == text.replace("é😀-guard", "ü-guard")


@every_format
@pytest.mark.asyncio
async def test_tokens_are_in_the_text(client, name):
    await opened(client, name, unmarked(name))
    lines = unmarked(name).split("\n")
    found = await client.text_document_semantic_tokens_full_async(lsp.SemanticTokensParams(document(name)))
    types = client.initialized.capabilities.semantic_tokens_provider.legend.token_types
    line = start = end = 0
    tokens = []
    for n in range(0, len(found.data), 5):
        down, right, length, kind, _ = found.data[n : n + 5]
        start = right if down else start + right
        assert down or start >= end, "tokens overlap"
        line, end = line + down, start + length
        span = lsp.Range(lsp.Position(line, start), lsp.Position(line, end))
        tokens.append((covered(client, unmarked(name), span), types[kind]))
    assert "PreToolUse" in [text for text, _ in tokens], (lines, tokens)


@every_format
@pytest.mark.asyncio
async def test_everything_that_is_offered_is_answered(client, name):
    text, place = await opened_at(client, name, HOOKS[name].replace("»", ""), mark="«")
    here, whole = document(name), lsp.Range(lsp.Position(0, 0), position(client, text, len(text)))
    [symbol] = await client.text_document_document_symbol_async(lsp.DocumentSymbolParams(here))
    assert symbol.name == "é😀-guard"
    await client.text_document_folding_range_async(lsp.FoldingRangeParams(here))
    await client.text_document_definition_async(lsp.DefinitionParams(here, place))
    await client.text_document_inlay_hint_async(lsp.InlayHintParams(here, whole))
    context = lsp.CodeActionContext(diagnostics=[])
    await client.text_document_code_action_async(lsp.CodeActionParams(here, whole, context))


if __name__ == "__main__":
    here = os.path.dirname(os.path.abspath(__file__))
    options = ["--quiet", "--disable-warnings", "-rN", "-p", "no:cacheprovider", "-c", os.path.join(here, "pytest.ini"), "--tb=short"]
    code = pytest.main([*options, __file__, *sys.argv[1:]])
    if code == 0:
        print("ok pytest-lsp", version("pytest-lsp"))
    sys.exit(code)
