// What a visitor set on this browser. Private windows may refuse to keep it; it then lasts as long as the page.

const PREFIX = "streamlab-";
const unkept = new Map();

export const settings = {
  read(name) {
    try {
      return localStorage.getItem(PREFIX + name) ?? unkept.get(name) ?? null;
    } catch {
      return unkept.get(name) ?? null;
    }
  },
  write(name, value) {
    unkept.set(name, value);
    try {
      localStorage.setItem(PREFIX + name, value);
    } catch {
      // Kept in `unkept` alone.
    }
  },
};
