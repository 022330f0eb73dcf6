/** Copying a text. */
import { type ReactNode, useState } from "react";
import { after } from "../client/clock.ts";
import { T } from "../text/text.ts";
import { IconButton } from "./button.tsx";
import { Code } from "./values/code.tsx";
import { toast } from "./toast.tsx";

export function Copy({ text, name }: { text: string | (() => string); name: string }): ReactNode {
	const [done, setDone] = useState(false);
	const copy = async (): Promise<void> => {
		try {
			await navigator.clipboard.writeText(typeof text === "string" ? text : text());
			setDone(true);
			after(1500, () => setDone(false));
		} catch {
			toast({ text: T.noClipboard, bad: true });
		}
	};
	return <IconButton name={done ? T.copied : name} icon={done ? "check" : "copy"} onPress={() => void copy()} />;
}

/** A text to be taken as it is, with its button. */
export function CodeBlock({
	text,
	name,
	coloured = false,
}: {
	text: string;
	name: string;
	/** It is code of the console's own, not a text from elsewhere. */
	coloured?: boolean;
}): ReactNode {
	return (
		<div className="code-block">
			{/* oxlint-disable-next-line jsx-a11y/no-noninteractive-tabindex -- what scrolls must be reached by the keyboard */}
			<pre tabIndex={0} aria-label={name}>
				{coloured ? <Code text={text} /> : <code>{text}</code>}
			</pre>
			<Copy text={text} name={T.copy} />
		</div>
	);
}
