/** A text area whose code has colours: they are drawn by a copy behind its own text, which is transparent. */
import { type ReactNode, useRef } from "react";
import { TextArea, type TextAreaProps } from "react-aria-components";
import { Code } from "./code.tsx";

export function CodeArea({ value, ...props }: TextAreaProps & { value: string }): ReactNode {
	const copy = useRef<HTMLPreElement>(null);
	return (
		<div className="code-area">
			<pre ref={copy} aria-hidden="true">
				<Code text={value} />
			</pre>
			<TextArea
				{...props}
				onScroll={({ currentTarget: { scrollLeft, scrollTop } }) => copy.current?.scrollTo(scrollLeft, scrollTop)}
			/>
		</div>
	);
}
