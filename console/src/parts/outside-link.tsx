/** Addresses that jobs wrote, outside of the console, and texts with a marked part. */
import { type ReactNode, useState } from "react";
import { T } from "../text/text.ts";
import { Button } from "./button.tsx";
import { CodeBlock } from "./copy.tsx";
import { Dialog } from "./dialog.tsx";

/**
 * A link only where the whole text is an http address; it is shown as the text that it is, and opens
 * after a question: the job chose the address.
 */
export function LinkOrText({ text, whole, needle = "" }: { text: string; whole: boolean; needle?: string }): ReactNode {
	if (!whole || !isAddress(text)) return <Marked text={text} needle={needle} />;
	return (
		<OutsideLink address={text}>
			<Marked text={text} needle={needle} />
		</OutsideLink>
	);
}

function isAddress(text: string): boolean {
	return /^https?:\/\/[^\s"<>]+$/i.test(text) && URL.canParse(text);
}

/** A link that a job wrote: it opens after a question that shows the address. */
export function OutsideLink({ address, children }: { address: string; children: ReactNode }): ReactNode {
	const [leaving, setLeaving] = useState(false);
	if (!isAddress(address)) return children;
	return (
		<>
			<button type="button" className="json-link" title={address} onClick={() => setLeaving(true)}>
				{children}
			</button>
			{leaving ? <Leave to={new URL(address)} close={() => setLeaving(false)} /> : null}
		</>
	);
}

function Leave({ to, close }: { to: URL; close: () => void }): ReactNode {
	return (
		<Dialog title={T.leave.title(to.host)} close={close}>
			<p>{T.leave.text}</p>
			<CodeBlock text={to.href} name={T.leave.address} />
			<div className="actions end">
				<Button look="quiet" onPress={close}>
					{T.dismiss}
				</Button>
				<a className="button main" href={to.href} target="_blank" rel="noopener noreferrer" onClick={close}>
					{T.leave.open}
				</a>
			</div>
		</Dialog>
	);
}

/** A text with what is searched for marked. */
export function Marked({ text, needle }: { text: string; needle: string }): ReactNode {
	const at = needle === "" ? -1 : text.toLowerCase().indexOf(needle);
	if (at < 0) return text;
	return (
		<>
			{text.slice(0, at)}
			<mark>{text.slice(at, at + needle.length)}</mark>
			{text.slice(at + needle.length)}
		</>
	);
}
