/** The form elements are the state of the page. The address contains each value that differs from its default. */

const LONGEST = 6000; // characters of a value that the address may contain
let defaults, timer = 0;

const inputs = () => [...document.querySelectorAll("input[name], select[name], textarea[name]")];

function read() {
  const chosen = inputs().filter(({ type, checked }) => type !== "radio" || checked);
  return new Map(chosen.map(({ name, value }) => [name, value.trim()]));
}

function write(values) {
  for (const input of inputs()) {
    if (input.type === "radio") input.checked = input.value === values.get(input.name);
    else input.value = values.get(input.name);
  }
}

/** Call back after each input by the user, and after `changed`. */
export const onChange = (listener) => document.addEventListener("input", listener);
export const changed = () => document.dispatchEvent(new Event("input"));

/** Take the state from the address; values that an input refuses are replaced by their defaults. */
function readAddress() {
  const address = new URLSearchParams(location.hash.slice(1));
  const wanted = new Map([...defaults].map(([name, value]) => [name, address.get(name) ?? value]));
  write(wanted);
  const accepted = read();
  write(new Map([...wanted].map(([name, value]) => [name, accepted.get(name) === value.trim() ? value : defaults.get(name)])));
  changed();
}

function writeAddress() {
  const values = [...read()].filter(([name, value]) => value !== defaults.get(name) && value.length <= LONGEST);
  history.replaceState(null, "", `#${new URLSearchParams(values)}`);
}

/** Take the state from the address, and keep the address up to date from now on. */
export function startState() {
  defaults = read();
  readAddress();
  addEventListener("hashchange", readAddress);
  onChange(() => {
    clearTimeout(timer);
    timer = setTimeout(writeAddress, 250); // browsers limit the number of changes per second
  });
}
