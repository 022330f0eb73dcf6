/** Compiles `src/` to `dist/`, and copies what the compiler leaves behind (the migrations). */
import { execFileSync } from "node:child_process";
import { cpSync, rmSync } from "node:fs";
import { fileURLToPath } from "node:url";

const root = fileURLToPath(new URL("..", import.meta.url));
rmSync(`${root}dist`, { recursive: true, force: true });
execFileSync("tsc", ["-p", "tsconfig.build.json"], { cwd: root, stdio: "inherit" });
for (const dialect of ["sqlite", "postgres"]) cpSync(`${root}src/store/${dialect}/migrations`, `${root}dist/store/${dialect}/migrations`, { recursive: true });
