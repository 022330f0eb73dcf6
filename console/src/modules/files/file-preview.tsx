/** One file in a window: its content where a browser can show it without running any of it. */
import { type ReactNode, useEffect, useRef } from "react";
import { bytes } from "../../text/format.ts";
import { useLoad } from "../../client/load.ts";
import type { FileObject } from "../../client/shapes.ts";
import { CodeBlock } from "../../parts/copy.tsx";
import { Dialog } from "../../parts/dialog.tsx";
import { Loading, Refusal } from "../../parts/notice.tsx";
import { T } from "../../text/text.ts";
import { contentOf } from "./file-calls.ts";

/** Larger media would fill the memory of the page. */
const MOST_MEDIA = 64_000_000;
const MOST_TEXT = 64_000;

type Preview = { kind: "image" | "audio" | "video"; content: Blob } | { kind: "text"; text: string } | { kind: "none" };

const TEXT = /^(?:text\/|application\/(?:json|jsonl|x-ndjson|yaml|x-yaml)\b)/;

export function FilePreview({
	endpoint,
	file,
	close,
}: {
	endpoint: string;
	file: FileObject;
	close: () => void;
}): ReactNode {
	const { data, failure, reload } = useLoad(`file ${file.id}`, (signal) => previewOf(endpoint, file, signal));
	return (
		<Dialog title={file.filename} close={close} wide>
			<div className="stack">
				<p className="muted">
					<code>{file.id}</code> {bytes(file.bytes)}
				</p>
				{failure ? <Refusal failure={failure} again={reload} /> : null}
				{data ? <Shown file={file} preview={data} /> : failure ? null : <Loading />}
			</div>
		</Dialog>
	);
}

function Shown({ file, preview }: { file: FileObject; preview: Preview }): ReactNode {
	if (preview.kind === "none")
		return <p>{file.bytes > MOST_MEDIA ? T.files.tooLarge(bytes(MOST_MEDIA)) : T.files.noPreview}</p>;
	if (preview.kind !== "text") return <MediaShown file={file} {...preview} />;
	return (
		<>
			{file.bytes > MOST_TEXT ? <p className="muted">{T.files.cut(bytes(MOST_TEXT))}</p> : null}
			<CodeBlock text={preview.text} name={T.files.content(file.filename)} />
		</>
	);
}

function MediaShown({
	file: { filename },
	kind,
	content,
}: {
	file: FileObject;
	kind: "image" | "audio" | "video";
	content: Blob;
}): ReactNode {
	const shown = useRef<HTMLImageElement & HTMLVideoElement>(null);
	useEffect(() => {
		const url = URL.createObjectURL(content);
		shown.current!.src = url;
		return () => URL.revokeObjectURL(url);
	}, [content]);
	if (kind === "image") return <img ref={shown} className="file-preview" alt={T.files.picture(filename)} />;
	return kind === "audio" ? (
		// oxlint-disable-next-line jsx-a11y/media-has-caption -- a client's file has no captions
		<audio ref={shown} className="file-preview" controls aria-label={T.files.sound(filename)} />
	) : (
		// oxlint-disable-next-line jsx-a11y/media-has-caption -- a client's file has no captions
		<video ref={shown} className="file-preview" controls aria-label={T.files.video(filename)} />
	);
}

async function previewOf(endpoint: string, file: FileObject, signal: AbortSignal): Promise<Preview> {
	const response = await contentOf(endpoint, file.id, signal);
	const type = response.headers.get("Content-Type") ?? "";
	const kind = (["image", "audio", "video"] as const).find((each) => type.startsWith(`${each}/`));
	// A browser would run what an SVG contains if its address were opened.
	if (kind && !type.includes("svg") && file.bytes <= MOST_MEDIA) return { kind, content: await response.blob() };
	if (TEXT.test(type)) return { kind: "text", text: await beginOf(response) };
	await response.body?.cancel();
	return { kind: "none" };
}

async function beginOf(response: Response): Promise<string> {
	const decoder = new TextDecoder();
	const reader = response.body!.getReader();
	let text = "";
	for (let part = await reader.read(); !part.done; part = await reader.read()) {
		text += decoder.decode(part.value, { stream: true });
		if (text.length < MOST_TEXT) continue;
		await reader.cancel();
		break;
	}
	return text.slice(0, MOST_TEXT);
}
