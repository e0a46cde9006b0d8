/** Icons in the style of `lib/icons.tsx` that only this island uses. */
import { Icon } from "../../lib/icons";

export const PlayIcon = () => (
  <Icon>
    <circle cx="12" cy="12" r="8.5" />
    <path d="M10 8.8v6.4l5.2-3.2z" />
  </Icon>
);

export const DocumentIcon = () => (
  <Icon>
    <path d="M7 3.5h7l4 4v13H7a1.5 1.5 0 0 1-1.5-1.5V5A1.5 1.5 0 0 1 7 3.5zM14 3.5v4h4M9 12h6M9 15.5h6" />
  </Icon>
);

export const QuizIcon = () => (
  <Icon>
    <path d="m4 7 1.5 1.5L8 6M4 15.5 5.5 17 8 14.5M11.5 7.5H20M11.5 16H20" />
  </Icon>
);
