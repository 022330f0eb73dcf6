/** An image with a shell, curl and what `install.sh` calls, of this machine's own programs. It has no Node. */
import { execFileSync } from "node:child_process";
import { copyFileSync, existsSync, mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";

const PROGRAMS = "sh curl gzip cat chmod mkdir mktemp mv rm sha256sum sleep uname".split(" ");

/** Imports the image and removes it afterwards. Its libraries are those of `programs` too, absolute paths. */
export function importBareImage(name: string, programs: readonly string[]): void {
	const root = mkdtempSync(join(tmpdir(), "sluice-bare-image-"));
	const put = (from: string, to: string): void => {
		if (existsSync(root + to)) return;
		mkdirSync(dirname(root + to), { recursive: true });
		copyFileSync(from, root + to);
	};
	try {
		const found = PROGRAMS.map((each) => execFileSync("sh", ["-c", `command -v ${each}`], { encoding: "utf8" }).trim());
		for (const path of [...found, ...programs])
			for (const [library] of execFileSync("ldd", [path], { encoding: "utf8" }).matchAll(/\/\S+/g))
				put(library, library);
		for (const [at, path] of found.entries()) put(path, `/bin/${PROGRAMS[at]}`);
		mkdirSync(join(root, "tmp"), { mode: 0o1777 });
		execFileSync("sh", ["-c", 'tar -C "$0" -cf - . | docker import - "$1"', root, name], { stdio: "ignore" });
	} finally {
		rmSync(root, { recursive: true, force: true });
	}
}
