// Whether the frames are dark: by the background of the appearance, or by its theme.
export function isDark(appearance) {
  const color = appearance?.variables?.colorBackground;
  if (!color) return appearance?.theme === "night";
  const canvas = document.createElement("canvas").getContext("2d");
  canvas.fillStyle = color;
  const hex = canvas.fillStyle;
  if (!/^#[0-9a-f]{6}$/.test(hex)) return appearance?.theme === "night";
  const [red, green, blue] = [1, 3, 5].map((at) => Number.parseInt(hex.slice(at, at + 2), 16));
  return 0.299 * red + 0.587 * green + 0.114 * blue < 128;
}
