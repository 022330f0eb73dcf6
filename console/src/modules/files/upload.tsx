/** A button that uploads a file to an endpoint. */
import { type ReactNode, useRef, useState } from "react";
import { useAct } from "../../parts/act.ts";
import { Button } from "../../parts/button.tsx";
import type { FileObject } from "../../client/shapes.ts";
import { bytes } from "../../text/format.ts";
import { T } from "../../text/text.ts";
import { uploadFile } from "./file-calls.ts";

export function Upload({
	endpoint,
	purpose,
	look = "main",
	done,
}: {
	endpoint: string;
	/** Default: by the name of the file. */
	purpose?: string;
	look?: "main" | "plain";
	done: (file: FileObject) => void;
}): ReactNode {
	const input = useRef<HTMLInputElement>(null);
	const [sent, setSent] = useState<File>();
	const { busy, run } = useAct();
	const upload = async (file: File | undefined): Promise<void> => {
		if (!file) return;
		setSent(file);
		await run(async () => done(await uploadFile(endpoint, file, purpose)), T.files.uploaded(file.name));
		// The same file may be chosen again.
		if (input.current) input.current.value = "";
	};
	return (
		<div className="bar">
			<input
				ref={input}
				className="hidden"
				type="file"
				tabIndex={-1}
				aria-label={T.files.choose}
				onChange={({ currentTarget: { files } }) => void upload(files?.[0])}
			/>
			<Button look={look} icon="plus" busy={busy} onPress={() => input.current?.click()}>
				{T.files.upload}
			</Button>
			{busy && sent ? (
				<span className="muted" role="status">
					{T.files.uploading(sent.name, bytes(sent.size))}
				</span>
			) : null}
		</div>
	);
}
