/** Opens an address in the browser of this machine, if there is one. */
import { spawn } from "node:child_process";

const OPENERS: Readonly<Partial<Record<NodeJS.Platform, readonly string[]>>> = {
	darwin: ["open"],
	win32: ["cmd", "/c", "start", ""],
};

/** `BROWSER` names another program. `env`: of the browser, without secrets. */
export function openPage(url: string, env: Readonly<Record<string, string | undefined>>): void {
	const browser = env["BROWSER"];
	const [file = "", ...args] = browser ? [browser] : (OPENERS[process.platform] ?? ["xdg-open"]);
	const child = spawn(file, [...args, url], { env: { ...env }, stdio: "ignore", detached: true });
	// The address is printed as well.
	child.on("error", () => {});
	child.unref();
}
