// @ts-check
/** What a view is, and what it may use of the page around it. */

/** @import { Child } from './dom.js' */
/** @import { Change } from './dialog.js' */
/** @typedef {import('../../src/gateway/operations/operation-table.ts').Output<'overview'>} Overview */

/**
 * What a view may use. `overview` is there before any view is shown.
 * @typedef {object} Page
 * @property {Overview} overview
 * @property {string} parameter what follows the name of the view in the address
 * @property {() => void} redraw shows what changed in the view itself
 * @property {() => void} refresh asks the gateway at once
 * @property {(change: Change) => void} ask opens the dialog for a change
 */

/**
 * @typedef {object} View
 * @property {string} title
 * @property {(page: Page) => Promise<void>} [load] asks for what the view shows, at every poll; rejects with a CallError
 * @property {(page: Page) => Child} show
 */

export {};
