/** The built command line. */
import { execFile } from "node:child_process";
import { fileURLToPath } from "node:url";
import { KEY } from "../../processes.ts";

const PROGRAM = fileURLToPath(new URL("../../../bin/sluice.js", import.meta.url));

/** What it printed; rejects when it fails. */
export function sluice(folder: string, url: string, ...args: string[]): Promise<{ stdout: string; stderr: string }> {
	const env = { ...process.env, SLUICE_URL: url, SLUICE_API_KEY: KEY, SLUICE_SECRET: KEY };
	return new Promise((resolve, reject) => {
		execFile(process.execPath, [PROGRAM, ...args], { cwd: folder, env }, (error, stdout, stderr) => {
			if (error) reject(error);
			else resolve({ stdout, stderr });
		});
	});
}
