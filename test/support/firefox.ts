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
	nameDownloads();
	// The channel is what makes Playwright use WebDriver BiDi.
	return await firefox.launch({ channel: "moz-firefox", executablePath });
}

interface Socket {
	send(data: unknown, ...rest: unknown[]): void;
	emit(event: string, data: unknown, ...rest: unknown[]): boolean;
}

function sockets(): Socket {
	const load = createRequire(import.meta.url);
	return (load("playwright-core/lib/utilsBundle") as { ws: { prototype: Socket } }).ws.prototype;
}

/**
 * Playwright emulates media features in every context by a command that Firefox 153 does not have
 * and would refuse: it counts as done. The theme is then that of the system, light.
 */
function ignoreEmulatedMedia(): void {
	const prototype = sockets();
	const { send } = prototype;
	prototype.send = function (this: Socket, data, ...rest) {
		if (typeof data === "string" && data.includes('"emulation.setMediaFeaturesOverride"')) {
			const { id } = JSON.parse(data) as { id: number };
			this.emit("message", JSON.stringify({ type: "success", id, result: {} }));
		} else send.call(this, data, ...rest);
	};
}

/**
 * Firefox 153 announces a download that a link with `download` starts, and its end, without an id, neither of the
 * download nor of a navigation, and Playwright drops events without one. Here their address is the id.
 */
function nameDownloads(): void {
	const prototype = sockets();
	const { emit } = prototype;
	prototype.emit = function (this: Socket, event, data, ...rest) {
		const text = event === "message" ? String(data) : "";
		if (!text.includes('"browsingContext.download')) return emit.call(this, event, data, ...rest);
		const message = JSON.parse(text) as { params: { navigation: string | null; url: string } };
		const { navigation, url } = message.params;
		const params = { download: navigation ?? url, ...message.params };
		return emit.call(this, event, JSON.stringify({ ...message, params }), ...rest);
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
