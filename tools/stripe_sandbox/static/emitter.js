// The events of an Element.
export class Emitter {
  #listeners = new Map();

  on(name, listener) {
    const known = this.#listeners.get(name) ?? [];
    this.#listeners.set(name, [...known, listener]);
    return this;
  }

  once(name, listener) {
    const wrapped = (event) => {
      this.off(name, wrapped);
      listener(event);
    };
    return this.on(name, wrapped);
  }

  off(name, listener) {
    const known = this.#listeners.get(name) ?? [];
    this.#listeners.set(name, listener ? known.filter((one) => one !== listener) : []);
    return this;
  }

  emit(name, event) {
    for (const listener of this.#listeners.get(name) ?? []) listener(event);
  }

  forgetListeners() {
    this.#listeners.clear();
  }
}
