/** A choice of the time that is shown. */
import type { ReactNode } from "react";
import { ToggleButton, ToggleButtonGroup } from "react-aria-components";
import { type SpanId, SPANS } from "../../values/ranges.ts";
import { T } from "../../text/text.ts";

export function SpanChoice({
	chosen,
	choose,
}: {
	chosen: SpanId | undefined;
	choose: (span: SpanId) => void;
}): ReactNode {
	return (
		<ToggleButtonGroup
			className="segments"
			aria-label={T.charts.span}
			selectionMode="single"
			selectedKeys={chosen === undefined ? [] : [chosen]}
			onSelectionChange={([key]) => choose((key as SpanId | undefined) ?? chosen ?? "1h")}
		>
			{SPANS.map(({ id }) => (
				<ToggleButton key={id} id={id} className="segment" aria-label={T.charts.spans[id]}>
					<span className="wide-only">{T.charts.spans[id]}</span>
					<span className="narrow-only">{T.charts.shortSpans[id]}</span>
				</ToggleButton>
			))}
		</ToggleButtonGroup>
	);
}
