/** What is shown of receivers that refuse an alert: without secrets, and in time (D53). */
import { once } from "node:events";
import { type AddressInfo, createServer, type Socket } from "node:net";
import { createInterface } from "node:readline";
import { expect, it, onTestFinished, vi } from "vitest";
import { testMessage } from "./message.ts";
import type { AlertReceiver } from "./settings.ts";
import { alertSender } from "./sender.ts";

const MESSAGE = testMessage("alert_1");
const { signal } = new AbortController();

async function mailReceiver(onSocket: (socket: Socket) => void): Promise<AlertReceiver> {
	const server = createServer((socket) => onSocket(socket.on("error", () => {})));
	server.listen(0, "127.0.0.1");
	await once(server, "listening");
	onTestFinished(() => void server.close());
	const { port } = server.address() as AddressInfo;
	const smtp = { host: "127.0.0.1", port, tls: "off", user: "me", password: "word-of-mail" } as const;
	return { type: "email", smtp, from: "a@b.c", to: ["d@e.f"] };
}
const send = alertSender(async () => ({ status: 500 }));

it.each([
	["no such hook: services/T0/B0/path-of-slack", "no such hook: …"],
	["path-of-slack?word-of-query is unknown", "…?… is unknown"],
	["no hook services/T0/B0/path-of-sl", "no hook …"],
	["the hook path-of", "the hook …"],
	["no hook serves it", "no hook serves it"],
])("D53: of the answer %j of a receiver is shown %j", async (answer, shown) => {
	const post = alertSender(async () => ({ status: 404, answer }));
	const url = "https://hooks.example.com/services/T0/B0/path-of-slack?key=word-of-query";
	expect(await post({ type: "slack", url }, MESSAGE, signal)).toBe(`the receiver answered 404: ${shown}`);
});

it("D53: of a mail server that answers with what it got, no form of the password is shown", async () => {
	const receiver = await mailReceiver((socket) => {
		socket.write("220 mail ESMTP\r\n");
		createInterface(socket).on("line", (line) => {
			const got = line.split(" ").at(-1)!;
			const [, , password] = Buffer.from(got, "base64").toString().split("\0");
			const again = Buffer.from(password ?? "").toString("base64");
			if (line.startsWith("EHLO")) socket.write("250-mail\r\n250 AUTH PLAIN\r\n");
			else if (line.startsWith("AUTH")) socket.write(`535 refused: ${got} ${again} ${password}\r\n`);
			else socket.end("221 bye\r\n");
		});
	});
	expect(await send(receiver, MESSAGE, signal)).toMatch(/535 refused: … … …$/);
});

it("D53: a mail that is not accepted within 30 s is given up", async () => {
	const over = new AbortController();
	const timeout = vi.spyOn(AbortSignal, "timeout").mockReturnValue(over.signal);
	onTestFinished(() => timeout.mockRestore());
	const receiver = await mailReceiver(() => over.abort());
	expect(await send(receiver, MESSAGE, signal)).toBe("the server did not accept it within 30 s");
	expect(timeout).toHaveBeenCalledWith(30_000);
});
