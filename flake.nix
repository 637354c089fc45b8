# `nix run github:hookwire/hookwire -- --version`. Not yet run: there was no Nix where it was written.
{
  description = "Hook host for AI agents: lifecycle events in over JSON-RPC, one verdict out";

  inputs.nixpkgs.url = "github:NixOS/nixpkgs/nixos-unstable";

  outputs = { self, nixpkgs }:
    let
      systems = [ "x86_64-linux" "aarch64-linux" "x86_64-darwin" "aarch64-darwin" ];
      forAll = build: nixpkgs.lib.genAttrs systems (system: build nixpkgs.legacyPackages.${system});
    in {
      packages = forAll (pkgs: {
        default = pkgs.rustPlatform.buildRustPackage {
          pname = "hookwire";
          version = (pkgs.lib.importTOML ./Cargo.toml).workspace.package.version;
          src = self;
          cargoLock.lockFile = ./Cargo.lock;
          # The tests want shells, editors and a writable home.
          doCheck = false;
          postInstall = "$out/bin/hookwire generate share $out/share";
          meta = {
            description = "Hook host for AI agents";
            license = with pkgs.lib.licenses; [ mit asl20 ];
            mainProgram = "hookwire";
          };
        };
      });
    };
}
