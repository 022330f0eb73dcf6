/** A field for a file of an input: chosen, or dropped on it. A sound can be heard before it is sent. */
import { type ReactNode, useEffect, useId, useRef, useState } from "react";
import { MOST_FILE_BYTES } from "../../values/attachments.ts";
import { bytes } from "../../text/format.ts";
import { Button } from "../../parts/button.tsx";
import { T } from "../../text/text.ts";

interface FileFieldProps {
	label: string;
	/** The types that the browser proposes. Empty: all. */
	accept: string;
	/** What the field holds. It may be one that {@link fileFault} refuses. */
	file: File | undefined;
	fault: string | undefined;
	onChange: (file: File | undefined) => void;
	/** The file is a sound. */
	heard: boolean;
}

/** Why a job cannot have this file. */
export function fileFault({ name, size }: File): string | undefined {
	if (size === 0) return T.form.empty(name);
	return size > MOST_FILE_BYTES ? T.form.tooLarge(name, bytes(size), bytes(MOST_FILE_BYTES)) : undefined;
}

export function FileField({ label, accept, file, fault, onChange, heard }: FileFieldProps): ReactNode {
	const id = useId();
	// A browser's field is emptied by another in its place.
	const [count, setCount] = useState(0);
	return (
		<div className="field" {...(fault === undefined ? {} : { "data-invalid": true })}>
			<label htmlFor={id}>{label}</label>
			<input
				key={count}
				id={id}
				type="file"
				className="input file-input"
				{...(accept === "" ? {} : { accept })}
				aria-invalid={fault !== undefined}
				aria-describedby={`${id}-hint ${id}-fault`}
				onChange={({ target }) => onChange(target.files?.[0])}
			/>
			<span id={`${id}-hint`} className="hint">
				{T.form.fileHint(bytes(MOST_FILE_BYTES))}
			</span>
			{fault === undefined ? null : (
				<span id={`${id}-fault`} className="fault" role="alert">
					{fault}
				</span>
			)}
			{file && heard && fault === undefined ? <Player file={file} /> : null}
			{file ? (
				<div className="actions">
					<Button
						look="quiet"
						icon="close"
						onPress={() => {
							setCount(count + 1);
							onChange(undefined);
						}}
					>
						{T.form.remove}
					</Button>
				</div>
			) : null}
		</div>
	);
}

function Player({ file }: { file: File }): ReactNode {
	const audio = useRef<HTMLAudioElement>(null);
	useEffect(() => {
		const url = URL.createObjectURL(file);
		audio.current!.src = url;
		return () => URL.revokeObjectURL(url);
	}, [file]);
	return (
		// oxlint-disable-next-line jsx-a11y/media-has-caption -- a file that was chosen has no captions
		<audio ref={audio} controls preload="metadata" aria-label={T.form.player(file.name)} />
	);
}
