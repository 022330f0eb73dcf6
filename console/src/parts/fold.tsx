/** What is hidden until it is asked for. */
import { type ReactNode, useState } from "react";
import { Button, Disclosure, DisclosurePanel, Heading } from "react-aria-components";
import { Icon } from "./icons.tsx";

export function Fold({
	title,
	open = false,
	children,
}: {
	title: string;
	/** Opens it, such as because something in it is wrong. */
	open?: boolean;
	children: ReactNode;
}): ReactNode {
	const [chosen, setChosen] = useState(false);
	return (
		<Disclosure className="disclosure" isExpanded={open || chosen} onExpandedChange={setChosen}>
			<Heading level={2}>
				<Button slot="trigger" className="button quiet">
					<Icon name="right" />
					<span>{title}</span>
				</Button>
			</Heading>
			<DisclosurePanel className="stack">{children}</DisclosurePanel>
		</Disclosure>
	);
}
