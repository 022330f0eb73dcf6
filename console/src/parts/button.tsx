/** Buttons. */
import type { ReactNode } from "react";
import { Button as AriaButton, Tooltip, TooltipTrigger } from "react-aria-components";
import { Icon, type IconName } from "./icons.tsx";

interface ButtonProps {
	children: ReactNode;
	/** `main`: the one thing a page is for; `danger`: what cannot be taken back. */
	look?: "plain" | "main" | "danger" | "quiet";
	icon?: IconName;
	/** Without it, it submits its form. */
	onPress?: () => void;
	busy?: boolean;
	disabled?: boolean;
	/** Its name, where its text does not say what it belongs to. */
	label?: string;
	/** Whether what it opens is open. */
	expanded?: boolean;
	/** Whether it is the one of several that holds. */
	pressed?: boolean;
	/** The id of the form that it submits, where it stands elsewhere. */
	form?: string;
}

export function Button({
	children,
	look = "plain",
	icon,
	onPress,
	busy = false,
	disabled = false,
	label,
	expanded,
	pressed,
	form,
}: ButtonProps): ReactNode {
	return (
		<AriaButton
			className={`button ${look}`}
			type={onPress ? "button" : "submit"}
			{...(form === undefined ? {} : { form })}
			isPending={busy}
			isDisabled={disabled}
			{...(onPress ? { onPress } : {})}
			{...(label === undefined ? {} : { "aria-label": label })}
			{...(expanded === undefined ? {} : { "aria-expanded": expanded })}
			{...(pressed === undefined ? {} : { "aria-pressed": pressed })}
		>
			{icon ? <Icon name={icon} /> : null}
			<span>{children}</span>
		</AriaButton>
	);
}

/** A button with an icon only; its name is shown on hover and focus. */
export function IconButton({
	name,
	icon,
	onPress,
	pressed,
	disabled = false,
}: {
	name: string;
	icon: IconName;
	onPress: () => void;
	pressed?: boolean;
	disabled?: boolean;
}): ReactNode {
	return (
		<TooltipTrigger delay={500} closeDelay={50}>
			<AriaButton
				className="icon-button"
				aria-label={name}
				onPress={onPress}
				isDisabled={disabled}
				{...(pressed === undefined ? {} : { "aria-pressed": pressed })}
			>
				<Icon name={icon} />
			</AriaButton>
			<Tooltip className="tooltip" offset={6}>
				{name}
			</Tooltip>
		</TooltipTrigger>
	);
}
