/**
 * A fake of three model servers, for the console's forms: `node model-server.ts PORT` converts documents as
 * docling-serve, transcribes as whisper-asr-webservice, and speaks as Kokoro-FastAPI. Answers show what was received.
 */
import { createServer } from "node:http";
import { silence } from "./wav.ts";

interface Source {
	base64_string: string;
	filename: string;
}

/** The document of each task, whose id is its place here. */
const documents: object[] = [];

function convert({ sources: [source] }: { sources: [Source] }): object {
	const text = Buffer.from(source.base64_string, "base64").toString();
	const id = documents.push({ filename: source.filename, md_content: `# ${source.filename}\n\n${text}\n` }) - 1;
	return { task_id: String(id), task_status: "pending" };
}

function transcribe(form: Buffer, language: string | null): object {
	const isWhole = form.includes(silence());
	return { text: isWhole ? `Silence in ${language}.` : "The audio was cut.", language };
}

/** The JSON of an answer, or the bytes of a sound. */
function answerTo({ pathname, searchParams }: URL, body: Buffer): object | Buffer {
	const id = pathname.split("/").at(-1)!;
	if (pathname === "/v1/convert/source/async") return convert(JSON.parse(body.toString()) as { sources: [Source] });
	if (pathname.startsWith("/v1/status/poll/")) return { task_id: id, task_status: "success" };
	if (pathname.startsWith("/v1/result/")) return { status: "success", document: documents[Number(id)] };
	if (pathname === "/asr") return transcribe(body, searchParams.get("language"));
	if (pathname === "/v1/audio/speech") return silence();
	return {};
}

createServer((request, response) => {
	const pieces: Buffer[] = [];
	request.on("data", (piece: Buffer) => pieces.push(piece));
	request.on("end", () => {
		const answer = answerTo(new URL(request.url!, "http://localhost"), Buffer.concat(pieces));
		const isSound = Buffer.isBuffer(answer);
		response.setHeader("content-type", isSound ? "audio/wav" : "application/json");
		response.end(isSound ? answer : JSON.stringify(answer));
	});
}).listen(Number(process.argv[2]), "127.0.0.1");
