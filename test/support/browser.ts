/**
 * A real browser for tests, pictures and benchmarks: the Chromium of this machine, or the one that
 * comes from npm. Tests can choose Firefox.
 */
import { execFile } from "node:child_process";
import { existsSync, mkdirSync, mkdtempSync, readFileSync, renameSync, rmSync } from "node:fs";
import { delimiter, join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { type Browser, chromium, type LaunchOptions } from "playwright-core";
import { IN_FIREFOX, startFirefox } from "./firefox.ts";

const NAMES = ["chromium", "chromium-browser", "google-chrome", "google-chrome-stable"];
const PACKAGE = fileURLToPath(new URL("../../node_modules/@sparticuz/chromium/package.json", import.meta.url));
const CACHE = fileURLToPath(new URL("../../node_modules/.cache", import.meta.url));

/** Starts it. Throws an error whose message says why none can run here. */
export async function startBrowser(): Promise<Browser> {
	if (IN_FIREFOX) return await startFirefox();
	const { executablePath, env } = await found();
	// Its sandbox needs more than a container gives; what it loads is ours.
	return await chromium.launch({
		executablePath,
		chromiumSandbox: false,
		args: ["--disable-gpu"],
		env,
	});
}

/** The machine's own goes first. */
async function found(): Promise<Required<Pick<LaunchOptions, "executablePath" | "env">>> {
	const env = Object.fromEntries(
		Object.entries(process.env).filter((entry): entry is [string, string] => entry[1] !== undefined),
	);
	const own = (env["PATH"] ?? "")
		.split(delimiter)
		.filter(Boolean)
		.flatMap((folder) => NAMES.map((name) => join(folder, name)))
		.find((path) => existsSync(path));
	if (own !== undefined) return { executablePath: own, env };
	if (process.platform !== "linux" || process.arch !== "x64")
		throw new Error(`no ${NAMES[0]} on PATH, and the one from npm is for Linux on x64`);
	const folder = await unpacked();
	return {
		executablePath: join(folder, "chromium"),
		env: {
			...env,
			FONTCONFIG_PATH: join(folder, "fonts"),
			LD_LIBRARY_PATH: [join(folder, "al2023/lib"), env["LD_LIBRARY_PATH"]].filter(Boolean).join(":"),
		},
	};
}

/** The folder with the browser from npm; unpacked once, by the first that needs it. */
async function unpacked(): Promise<string> {
	const { version } = JSON.parse(readFileSync(PACKAGE, "utf8")) as { version: string };
	const folder = join(CACHE, `chromium-${version}`);
	if (existsSync(folder)) return folder;
	mkdirSync(CACHE, { recursive: true });
	const mine = mkdtempSync(join(CACHE, "unpacking-"));
	try {
		await promisify(execFile)(process.execPath, [fileURLToPath(new URL("unpack-chromium.ts", import.meta.url)), mine]);
		renameSync(mine, folder);
	} catch (error) {
		// Another one was faster.
		if (!existsSync(folder)) throw error;
	} finally {
		rmSync(mine, { recursive: true, force: true });
	}
	return folder;
}
