/**
 * The Firefox of this machine, stock, driven by WebDriver BiDi: with `SLUICE_TEST_BROWSER=firefox`
 * the tests of the console use it.
 */
import { existsSync } from "node:fs";
import { createRequire } from "node:module";
import { delimiter, join } from "node:path";
import { type Browser, type BrowserContext, firefox } from "playwright-core";

/** Whether tests are to use it. */
export const IN_FIREFOX = process.env["SLUICE_TEST_BROWSER"] === "firefox";

const NAMES = ["firefox-esr", "firefox"];

/** Starts it. Throws an error whose message says why none can run here. */
export async function startFirefox(): Promise<Browser> {
	const executablePath = (process.env["PATH"] ?? "")
		.split(delimiter)
		.filter(Boolean)
		.flatMap((folder) => NAMES.map((name) => join(folder, name)))
		.find((path) => existsSync(path));
	if (executablePath === undefined) throw new Error(`no ${NAMES[0]} on PATH`);
	ignoreEmulatedMedia();
	// The channel is what makes Playwright use WebDriver BiDi.
	return await firefox.launch({ channel: "moz-firefox", executablePath });
}

interface Socket {
	send(data: unknown, ...rest: unknown[]): void;
	emit(event: "message", data: string): void;
}

/**
 * Playwright emulates media features in every context by a command that Firefox 153 does not have
 * and would refuse: it counts as done. The theme is then that of the system, light.
 */
function ignoreEmulatedMedia(): void {
	const load = createRequire(import.meta.url);
	const { prototype } = (load("playwright-core/lib/utilsBundle") as { ws: { prototype: Socket } }).ws;
	const { send } = prototype;
	prototype.send = function (this: Socket, data, ...rest) {
		if (typeof data === "string" && data.includes('"emulation.setMediaFeaturesOverride"')) {
			const { id } = JSON.parse(data) as { id: number };
			this.emit("message", JSON.stringify({ type: "success", id, result: {} }));
		} else send.call(this, data, ...rest);
	};
}

/**
 * Playwright fills a field by its value, of which React then sees no change. Here the browser
 * inserts the text as if it was typed.
 */
export async function insertAsTyped(context: BrowserContext): Promise<void> {
	await context.addInitScript(`Object.defineProperty(globalThis, "__pw_bidiInsertText", {
		get: () => (text) => void document.execCommand("insertText", false, text),
		set() {},
	});`);
}
