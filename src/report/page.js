// SPDX-License-Identifier: MIT
// The one script of a page: theme, tables (sort, filter, copy), and the timeline. Everything that it shows is in
// the page already; without it only the timeline is not drawn. Comments and indentation stay out of the page.
'use strict';
(() => {
    const root = document.documentElement;
    const all = (where, what) => [...where.querySelectorAll(what)];
    const element = (tag, props, ...inside) => {
        const made = Object.assign(document.createElement(tag), props);
        made.append(...inside);
        return made;
    };
    root.classList.add('scripted');

    // ---- light and dark ----

    const repaint = [];
    const dark = () => (root.dataset.theme || (matchMedia('(prefers-color-scheme:dark)').matches ? 'dark' : 'light')) === 'dark';
    const button = document.getElementById('theme');
    const setTheme = name => {
        if (name) root.dataset.theme = name;
        button.textContent = dark() ? 'Light' : 'Dark';
        button.setAttribute('aria-label', `Switch to ${dark() ? 'light' : 'dark'} colours`);
        repaint.forEach(paint => paint());
    };
    // A browser may deny storage to a file.
    const stored = (key, value) => {
        try {
            return value === undefined ? localStorage.getItem(key) : localStorage.setItem(key, value);
        } catch {
            return null;
        }
    };
    button.onclick = () => {
        const name = dark() ? 'light' : 'dark';
        setTheme(name);
        stored('specter-theme', name);
    };
    matchMedia('(prefers-color-scheme:dark)').addEventListener('change', () => setTheme());

    // ---- tables ----

    const FILTERED = 8; // rows: fewer need no filter

    // The key that a cell is sorted by: the value behind its text, else the number that it begins with, else its text.
    const valueOf = cell => {
        if (cell.dataset.v !== undefined) return +cell.dataset.v;
        const text = cell.textContent.trim(), number = parseFloat(text);
        return cell.className === 'left' || Number.isNaN(number) ? text : number;
    };
    // Unknown values ("-") come last in either direction.
    const sortBy = (table, column, down) => {
        const body = table.tBodies[0];
        const rows = [...body.rows].map(row => [valueOf(row.cells[column]), row]);
        rows.sort(([a], [b]) => {
            if (a === '-' || b === '-') return (a === '-') - (b === '-');
            const order = typeof a === 'number' && typeof b === 'number' ? a - b
                : String(a).localeCompare(String(b), undefined, {numeric: true});
            return down ? -order : order;
        });
        body.append(...rows.map(([, row]) => row));
        all(table, 'th').forEach((th, i) => {
            if (i === column) th.setAttribute('aria-sort', down ? 'descending' : 'ascending');
            else th.removeAttribute('aria-sort');
        });
    };
    // RFC 4180; text like a formula gets a ' in front, as in CSV files.
    const csvCell = text => {
        if (/^[=+@\t]|^-\D/.test(text) && text !== '-') text = `'${text}`;
        return /[",\n]/.test(text) ? `"${text.replace(/"/g, '""')}"` : text;
    };
    const textOf = cell => (cell.querySelector('details') ? cell.querySelector('details').lastChild : cell).textContent.trim();
    const csvOf = table => [
        all(table, 'th').map(th => csvCell(th.textContent + (th.dataset.u ? ` ${th.dataset.u}` : ''))),
        ...[...table.tBodies[0].rows].filter(row => !row.hidden)
            .map(row => [...row.cells].map(cell => csvCell(cell.dataset.v ?? textOf(cell))))
    ].map(row => row.join(',')).join('\n') + '\n';
    const copy = async text => {
        try {
            await navigator.clipboard.writeText(text);
        } catch {
            const area = element('textarea', {value: text, className: 'hidden'});
            document.body.append(area);
            area.select();
            document.execCommand('copy');
            area.remove();
        }
    };
    const addTools = wide => {
        const table = wide.querySelector('table'), name = wide.getAttribute('aria-label');
        const filter = element('input', {type: 'search', placeholder: 'Filter rows', hidden: table.tBodies[0].rows.length < FILTERED});
        filter.setAttribute('aria-label', `Filter rows of ${name}`);
        filter.oninput = () => {
            const words = filter.value.toLowerCase().split(/\s+/);
            for (const row of table.tBodies[0].rows) {
                const text = row.textContent.toLowerCase();
                row.hidden = !words.every(word => text.includes(word));
            }
        };
        const csv = element('button', {type: 'button', textContent: 'Copy CSV'});
        csv.onclick = async () => {
            await copy(csvOf(table));
            csv.textContent = 'Copied';
            setTimeout(() => { csv.textContent = 'Copy CSV'; }, 1500);
        };
        wide.before(element('div', {className: 'tools js'}, filter, csv));
        all(table, 'th').forEach((th, column) => {
            const sort = element('button', {type: 'button'}, ...th.childNodes);
            sort.onclick = () => sortBy(table, column, th.hasAttribute('aria-sort')
                ? th.getAttribute('aria-sort') === 'ascending' : th.className !== 'left');
            th.append(sort);
        });
    };

    // Links into a collapsed group open it; paper shows all groups.
    const reveal = () => {
        const target = location.hash && document.getElementById(location.hash.slice(1));
        if (!target) return;
        for (let at = target; at; at = at.parentElement) if (at.tagName === 'DETAILS') at.open = true;
        target.scrollIntoView();
    };
    addEventListener('hashchange', reveal);
    addEventListener('beforeprint', () => all(document, '.group').forEach(group => { group.open = true; }));

    // ---- the timeline ----

    const COLOURS = 9, LEVELS = 16, WAIT = 4, RULER = 22, DENSE = 2;
    const digits = value => value.toPrecision(3).replace(/^(\d+\.\d*?)0*e.*/, '$1');
    const time = ns => {
        const size = Math.abs(ns);
        if (size < 999.5) return `${Math.round(ns)} ns`;
        if (size < 999.5e3) return `${digits(ns / 1e3)} us`;
        return size < 999.5e6 ? `${digits(ns / 1e6)} ms` : `${digits(ns / 1e9)} s`;
    };

    // Rows as typed arrays. reach[i]: the last end of slices 0 to i, which finds what encloses a moment.
    const unpack = (row, links) => {
        const n = row.ops.length / 3;
        const out = {rank: row.rank, name: row.name, side: row.side, first: row.first || 0, n, start: new Float64Array(n), end: new Float64Array(n),
                     reach: new Float64Array(n), id: new Uint32Array(n), link: new Int32Array(n).fill(-1),
                     wait: new Float64Array(n), path: new Map()};
        let at = 0, reach = -Infinity;
        for (let i = 0; i < n; i++) {
            out.start[i] = at += row.ops[3 * i];
            out.end[i] = at += row.ops[3 * i + 1];
            out.id[i] = row.ops[3 * i + 2];
            out.reach[i] = reach = Math.max(reach, at);
        }
        for (let k = 0, i = 0, link = 0; k < row.links.length; k += 3) {
            i += row.links[k];
            out.wait[i] = row.links[k + 2];
            if (row.links[k + 1] === null) continue;
            out.link[i] = link += row.links[k + 1];
            if (!links.has(link)) links.set(link, []);
            links.get(link).push([out, i]);
        }
        for (let k = 0, i = 0; k < row.path.length; k += 3) {
            i += row.path[k];
            out.path.set(i, [row.path[k + 1], row.path[k + 2]]);
        }
        return out;
    };

    // First index of a sorted array whose value is above `limit`.
    const above = (list, limit) => {
        let low = 0, high = list.length;
        while (low < high) {
            const middle = (low + high) >> 1;
            if (list[middle] > limit) high = middle;
            else low = middle + 1;
        }
        return low;
    };

    const timeline = box => {
        const canvas = box.querySelector('canvas'), context = canvas.getContext('2d');
        const tip = box.querySelector('.tip'), about = box.querySelector('.about');
        const find = box.querySelector('input'), found = box.querySelector('.found');
        const links = new Map();
        let data = JSON.parse(box.querySelector('script').textContent);
        const names = data.names, begin = data.from || 0, span = Math.max(data.span - begin, 1);
        // Of a replay the source's rows come before all of the target's: those of one stream stand together.
        data.rows.sort((a, b) => a.rank - b.rank || a.name.localeCompare(b.name, undefined, {numeric: true}) || a.side.localeCompare(b.side));
        const unpacked = data.rows.map(row => unpack(row, links));
        // Two sides are panels one above the other, which share the view and so move together.
        const panels = (data.panels || [{side: '', step: 0}]).map(of => ({...of, rows: unpacked.filter(row => !of.side || row.side === of.side)}));
        panels.forEach(panel => panel.rows.forEach((row, nth) => Object.assign(row, {panel, nth})));
        const rows = panels.flatMap(panel => panel.rows), linked = panels.length > 1;
        const steps = Math.max(...panels.map(panel => panel.step));
        data = null;
        const view = steps ? {from: -0.02 * steps, to: 1.02 * steps, top: 0} : {from: begin, to: begin + span, top: 0};
        let width = 0, height = 0, scale = 1, gutter = 110, rowHeight = 16, image = null, pixels = null;
        let cover, most, kind, palette = [], mark = 0, ink = '', soft = '', line = '', onColour = [], hits = null, hover = null, chosen = null, cursor = null;

        // ---- colours and size ----

        const pixel = (colour, alpha) => {
            const [r, g, b] = colour.match(/[\d.]+/g).map(Number);
            return (Math.round(255 * alpha) << 24 | b << 16 | g << 8 | r) >>> 0;
        };
        const colours = () => {
            const probe = element('i');
            box.append(probe);
            const of = name => {
                probe.style.color = `var(--${name})`;
                return getComputedStyle(probe).color;
            };
            // Operations that a search does not find are pale: colours from COLOURS on.
            palette = new Uint32Array(2 * COLOURS * LEVELS);
            for (let k = 0; k < 2 * COLOURS; k++)
                for (let level = 0; level < LEVELS; level++)
                    palette[k * LEVELS + level] = pixel(of(`k${k % COLOURS}`), (k < COLOURS ? 1 : 0.18) * (0.4 + 0.6 * level / (LEVELS - 1)));
            mark = pixel(of('mark'), 1);
            [ink, soft, line] = ['ink', 'soft', 'line'].map(of);
            onColour = Array.from({length: COLOURS}, (_, k) => {
                const [r, g, b] = of(`k${k}`).match(/[\d.]+/g).map(v => (v / 255) ** 2.2);
                return 0.2126 * r + 0.7152 * g + 0.0722 * b > 0.18 ? '#000' : '#fff';
            });
            probe.remove();
        };
        const resize = () => {
            scale = devicePixelRatio || 1;
            width = box.clientWidth;
            gutter = width < 560 ? 62 : 122;
            const room = Math.max(260, (linked ? 0.76 : 0.62) * innerHeight), rulers = RULER * panels.length;
            rowHeight = Math.min(22, Math.max(8, Math.floor((room - rulers) / rows.length)));
            height = 0;
            for (const panel of panels) {
                panel.y = height + RULER;
                panel.height = Math.min(panel.rows.length * rowHeight + 4, (Math.max(room, 320) - rulers) / panels.length);
                height = panel.y + panel.height;
            }
            canvas.width = Math.round(width * scale);
            canvas.height = Math.round(height * scale);
            canvas.style.height = `${height}px`;
            const columns = Math.max(1, Math.round((width - gutter) * scale));
            image = new ImageData(columns, Math.max(1, Math.round((height - RULER) * scale)));
            pixels = new Uint32Array(image.data.buffer);
            cover = new Float32Array(columns);
            most = new Float32Array(columns);
            kind = new Uint8Array(columns);
            limit();
        };
        const limit = () => {
            const length = Math.min(Math.max(view.to - view.from, 20), span * 1.02);
            view.from = Math.min(Math.max(view.from, begin - 0.01 * span), begin + 1.01 * span - length);
            view.to = view.from + length;
            view.top = Math.min(Math.max(view.top, 0), Math.max(0, ...panels.map(panel => panel.rows.length * rowHeight + 4 - panel.height)));
        };

        // ---- drawing ----
        //
        // A row is first a line of pixels. In each, slices add up what they cover of it, and the one that covers most
        // gives the colour: what is smaller than a pixel thins out instead of being drawn one over the other. So a
        // frame costs a fixed number of pixels, however many slices there are.

        const paint = (from, to, colour) => {
            const first = from < 0 ? 0 : from | 0, last = to >= cover.length ? cover.length - 1 : to | 0;
            const start = from < 0 ? 0 : from;
            if (first === last) {
                const part = to - start;
                cover[first] += part;
                if (part >= most[first]) most[first] = part, kind[first] = colour;
                return;
            }
            const head = first + 1 - start, tail = Math.min(to - last, 1);
            cover[first] += head;
            if (head >= most[first]) most[first] = head, kind[first] = colour;
            if (last > first + 1) {
                cover.fill(1, first + 1, last);
                most.fill(1, first + 1, last);
                kind.fill(colour, first + 1, last);
            }
            cover[last] += tail;
            if (tail >= most[last]) most[last] = tail, kind[last] = colour;
        };
        const one = (row, i, each, y, labels) => {
            if (row.end[i] < view.from || row.start[i] > view.to) return;
            const id = row.id[i], pale = hits && !hits[id] ? COLOURS : 0;
            const from = (row.start[i] - view.from) * each, to = (row.end[i] - view.from) * each;
            const waited = from + row.wait[i] * each;
            if (waited > from && waited > 0) paint(from, Math.min(waited, to), WAIT + pale);
            if (to > waited && waited < cover.length) paint(Math.max(waited, from), to, names[id][1] + pale);
            if (to - from > 34 * scale && rowHeight >= 12 && labels.length < 600 && !pale)
                labels.push([Math.max(waited > from + (to - from) / 2 ? from : waited, 0) / scale, Math.min(to, cover.length) / scale, y, names[id]]);
        };
        // Where several slices begin in each pixel, sums that are made once tell what they cover, by colour. What is
        // longer than a pixel is drawn for itself; slices are kept by the logarithm of their length to find these.
        const thin = (row, each) => {
            if (!row.sums) summarize(row);
            let i = above(row.start, view.from);
            for (let x = 0; x < cover.length && i < row.n; x++) {
                const until = view.from + (x + 1) / each;
                let low = i, high = i, step = 1;
                while (high < row.n && row.start[high] < until) low = high + 1, high += step, step *= 2;
                high = Math.min(high, row.n);
                while (low < high) {
                    const middle = (low + high) >> 1;
                    if (row.start[middle] < until) low = middle + 1;
                    else high = middle;
                }
                if (low === i) continue;
                for (const [colour, sum] of row.sums) {
                    const part = (sum[low] - sum[i]) * each;
                    cover[x] += part;
                    if (part > most[x]) most[x] = part, kind[x] = colour;
                }
                i = low;
            }
        };
        const summarize = row => {
            const sums = new Map();
            const add = (colour, i, ns) => {
                if (!sums.has(colour)) sums.set(colour, new Float64Array(row.n + 1));
                sums.get(colour)[i + 1] += ns;
            };
            row.sizes = [];
            for (let i = 0; i < row.n; i++) {
                const length = row.end[i] - row.start[i], size = length > 1 ? Math.floor(Math.log2(length)) : 0;
                if (row.wait[i] > 0) add(WAIT, i, row.wait[i]);
                add(names[row.id[i]][1], i, length - row.wait[i]);
                (row.sizes[size] = row.sizes[size] || []).push(i);
            }
            for (const sum of sums.values()) for (let i = 0; i < row.n; i++) sum[i + 1] += sum[i];
            row.sums = [...sums];
        };
        const put = (row, y, labels) => {
            const columns = cover.length, each = columns / (view.to - view.from);
            const tall = Math.max(1, Math.round((rowHeight - 1) * scale)), edge = Math.max(1, Math.round(scale));
            const paths = [];
            cover.fill(0);
            most.fill(0);
            const first = above(row.reach, view.from);
            if (!hits && above(row.start, view.to) - first > DENSE * columns) {
                thin(row, each);
                for (let size = Math.max(0, Math.floor(Math.log2(1 / each))); size < row.sizes.length; size++)
                    for (const i of row.sizes[size] || []) if ((row.end[i] - row.start[i]) * each > 1) one(row, i, each, y, labels);
            } else {
                for (let i = first; i < row.n && row.start[i] < view.to; i++) one(row, i, each, y, labels);
            }
            for (const i of row.path.keys()) if (row.end[i] > view.from && row.start[i] < view.to) paths.push([i, (row.start[i] - view.from) * each]);
            const top = Math.round((row.panel.y - RULER) * scale), floor = Math.min(image.height, top + Math.round(row.panel.height * scale));
            const y0 = Math.max(top, Math.round(y * scale)), y1 = Math.min(floor, Math.round(y * scale) + tall);
            for (let x = 0; x < columns; x++) {
                if (cover[x] === 0) continue;
                const colour = palette[kind[x] * LEVELS + Math.min(LEVELS - 1, Math.round(cover[x] * (LEVELS - 1)))];
                const hatched = kind[x] % COLOURS === WAIT;
                for (let at = y0; at < y1; at++)
                    if (!hatched || ((x + at) / edge | 0) % 5 !== 0) pixels[at * columns + x] = colour;
            }
            for (const [i, from] of paths) {
                const [offset, length] = row.path.get(i);
                const x0 = Math.max(0, Math.round(from + offset * each)), x1 = Math.min(columns, Math.max(x0 + edge, Math.round(from + (offset + length) * each)));
                for (let at = y0; at < y1; at++) {
                    if (at < y0 + edge || at >= y1 - edge) pixels.fill(mark, at * columns + x0, at * columns + x1);
                    else if (x1 - x0 > 4 * edge) {
                        pixels.fill(mark, at * columns + x0, at * columns + x0 + edge);
                        pixels.fill(mark, at * columns + x1 - edge, at * columns + x1);
                    }
                }
            }
        };
        // As much of a text as fits.
        const short = (text, room) => {
            const letters = Math.floor(room / 6);
            return text.length > letters ? `${text.slice(0, letters - 1)}…` : text;
        };
        const ruler = ({y, height: tall, label}) => {
            const length = view.to - view.from, room = Math.max(1, (width - gutter) / 90);
            let step = 10 ** Math.floor(Math.log10(length / room));
            step *= [1, 2, 5, 10].find(k => length / (k * step) <= room) || 10;
            context.fillStyle = soft;
            context.strokeStyle = line;
            context.beginPath();
            for (let k = Math.ceil(view.from / step); k * step <= view.to; k++) {
                const x = gutter + (k * step - view.from) / length * (width - gutter);
                context.moveTo(x, y - 5);
                context.lineTo(x, y + tall);
                context.fillText(time(k * step), x + 3, y - 8, 80);
            }
            context.stroke();
            context.fillStyle = ink;
            if (label) context.fillText(short(label, gutter - 8), 4, y - 8, gutter - 8);
        };
        const nsOf = x => view.from + (x - gutter) / (width - gutter) * (view.to - view.from);
        const xOf = ns => gutter + (ns - view.from) / (view.to - view.from) * (width - gutter);
        const yOf = row => row.panel.y + row.nth * rowHeight - view.top;
        const visible = (row, y) => y + rowHeight > row.panel.y && y < row.panel.y + row.panel.height;

        // The same operation of the other side: on the same stream of the same rank the one that comes as many of its
        // kind after the step's first.
        const twinOf = ([row, i]) => {
            const id = row.id[i], other = rows.find(r => r.panel !== row.panel && r.rank === row.rank && r.name === row.name);
            let nth = 0;
            for (let k = row.first; k < i; k++) nth += row.id[k] === id;
            for (let k = i; k < row.first; k++) nth -= row.id[k] === id;
            for (let k = other ? other.first : 0; other && nth >= 0 && k < other.n; k++) if (other.id[k] === id && nth-- === 0) return [other, k];
            for (let k = other ? other.first - 1 : -1; nth < 0 && k >= 0; k--) if (other.id[k] === id && ++nth === 0) return [other, k];
            return null;
        };

        // The members of what is pointed at, joined from rank to rank.
        const join = ([row, i]) => {
            const members = row.link[i] < 0 ? [[row, i]] : links.get(row.link[i]);
            context.strokeStyle = ink;
            context.lineWidth = 1.5;
            context.beginPath();
            members.forEach(([r, k], nth) => {
                const x = (xOf(r.start[k]) + xOf(r.end[k])) / 2, y = yOf(r) + rowHeight / 2;
                if (nth) context.lineTo(x, y);
                else context.moveTo(x, y);
            });
            context.stroke();
            for (const [r, k] of members)
                context.strokeRect(xOf(r.start[k]), yOf(r), Math.max(2, xOf(r.end[k]) - xOf(r.start[k])), rowHeight - 1);
            context.lineWidth = 1;
        };
        const rowNames = () => {
            let free = 0;
            context.fillStyle = soft;
            for (const row of rows) {
                const y = yOf(row), before = row.panel.rows[row.nth - 1], first = !before || before.rank !== row.rank;
                if (!visible(row, y + 4) || y + 12 > row.panel.y + row.panel.height) continue;
                if (first && y >= row.panel.y) {
                    context.strokeStyle = line;
                    context.strokeRect(0, y - 0.5, width, 0);
                }
                if (y < free || (!first && rowHeight < 12)) continue;
                free = y + Math.max(rowHeight, 11);
                const text = rowHeight < 12 || gutter < 100 ? `rank ${row.rank}` : `${first ? `${row.rank}: ` : ''}${row.name} ${linked ? '' : row.side}`;
                if (first || gutter >= 100) context.fillText(text, first ? 4 : 18, y + Math.min(rowHeight, 16) - 4, gutter - 8);
            }
        };
        // Begin and end of the steps, and where the pointer is, on both sides.
        const marks = () => {
            context.strokeStyle = ink;
            for (const {y, height: tall, step} of panels) {
                context.setLineDash([4, 3]);
                for (const ns of step ? [0, step] : []) context.strokeRect(xOf(ns), y, 0, tall);
                context.setLineDash([]);
                if (linked && cursor !== null) context.strokeRect(xOf(cursor), y, 0, tall);
            }
        };
        let waiting = false;
        const draw = () => {
            waiting = false;
            if (!image) return;
            const labels = [];
            pixels.fill(0);
            for (const row of rows) if (visible(row, yOf(row))) put(row, yOf(row) - RULER, labels);
            context.setTransform(1, 0, 0, 1, 0, 0);
            context.clearRect(0, 0, canvas.width, canvas.height);
            context.putImageData(image, Math.round(gutter * scale), Math.round(RULER * scale));
            context.setTransform(scale, 0, 0, scale, 0, 0);
            context.font = '11px system-ui,sans-serif';
            context.globalCompositeOperation = 'destination-over';
            panels.forEach(ruler);
            context.globalCompositeOperation = 'source-over';
            context.save();
            context.beginPath();
            for (const panel of panels) context.rect(gutter, panel.y, width - gutter, panel.height);
            context.clip();
            for (const [from, to, y, [text, colour]] of labels) {
                if (to - from < 24) continue;
                context.fillStyle = onColour[colour];
                context.fillText(short(text, to - from - 6), gutter + from + 3, RULER + y + rowHeight / 2 + 3.5, to - from - 5);
            }
            marks();
            for (const at of [chosen, hover]) {
                const twin = at && linked && twinOf(at);
                if (at) join(at);
                if (twin) join(twin);
            }
            context.restore();
            rowNames();
        };
        const refresh = () => {
            if (!waiting) requestAnimationFrame(draw);
            waiting = true;
        };

        // ---- what is at a place, and what is said of it ----

        const at = (x, y) => {
            const panel = panels.find(p => y >= p.y && y < p.y + p.height), row = panel && panel.rows[Math.floor((y - panel.y + view.top) / rowHeight)];
            if (!row || x < gutter) return null;
            const ns = nsOf(x);
            const slack = 3 * (view.to - view.from) / (width - gutter);
            let best = -1, distance = Infinity;
            for (let i = above(row.reach, ns - slack); i < row.n && row.start[i] <= ns + slack; i++) {
                const far = Math.max(row.start[i] - ns, ns - row.end[i], 0);
                if (far < distance || (far === distance && row.end[i] - row.start[i] < row.end[best] - row.start[best])) best = i, distance = far;
            }
            return best >= 0 && distance <= slack ? [row, best] : null;
        };
        const tell = ([row, i]) => {
            const [title, , bytes, type, group, caller] = names[row.id[i]], length = row.end[i] - row.start[i];
            const lines = [title, `rank ${row.rank}, ${row.name}${row.side && `, ${row.panel.label || row.side}`}: ${time(length)} from ${time(row.start[i])}`];
            const what = [bytes, type, group && `group ${group}`, caller && `by ${caller}`].filter(Boolean);
            if (what.length) lines.push(what.join(', '));
            if (row.wait[i] > 0) lines.push(`waits ${time(row.wait[i])} of it for other ranks`);
            const members = row.link[i] < 0 ? [] : links.get(row.link[i]);
            const longer = ([r, k]) => `${time(r.end[k] - r.start[k])}, ${((r.end[k] - r.start[k]) / length).toFixed(2)} times as long`;
            const twin = linked && twinOf([row, i]);
            if (twin) lines.push(`${twin[0].panel.label}: ${longer(twin)}`);
            if (row.side && !linked) {
                for (const [r, k] of members) if (r !== row) lines.push(`${r.side}: ${longer([r, k])}`);
            } else if (members.length > 1) {
                const last = members.reduce((a, b) => (b[0].start[b[1]] > a[0].start[a[1]] ? b : a));
                lines.push(`${members.length} members; last to come: rank ${last[0].rank}`);
            }
            if (row.path.has(i)) lines.push('on the critical path');
            return lines;
        };
        const point = (place, x, y) => {
            hover = place;
            tip.hidden = !place;
            if (place) {
                tip.textContent = tell(place).join('\n');
                tip.style.left = `${Math.max(4, Math.min(x + 14, width - tip.offsetWidth - 6))}px`;
                tip.style.top = `${canvas.offsetTop + (y > height / 2 ? y - tip.offsetHeight - 10 : y + 18)}px`;
            }
            refresh();
        };
        const choose = place => {
            chosen = place;
            about.textContent = place ? tell(place).join(' · ') : hint;
            refresh();
        };
        const show = ([row, i]) => {
            const length = view.to - view.from, middle = (row.start[i] + row.end[i]) / 2, y = row.nth * rowHeight, tall = row.panel.height;
            if (row.end[i] < view.from || row.start[i] > view.to) view.from = middle - length / 2, view.to = middle + length / 2;
            if (y < view.top || y + rowHeight > view.top + tall) view.top = y - tall / 2;
            limit();
        };
        const hint = 'Click an operation for its details. Drag to move; Ctrl and the wheel, a double click, or + and - to zoom; , and . go from one operation to the next.';

        // ---- moving ----

        const zoom = (factor, x) => {
            const part = x === undefined ? 0.5 : Math.min(Math.max((x - gutter) / (width - gutter), 0), 1);
            const middle = view.from + part * (view.to - view.from), length = Math.min((view.to - view.from) * factor, span * 1.02);
            view.from = middle - part * length;
            view.to = view.from + length;
            limit();
            refresh();
        };
        const pan = (x, y) => {
            const by = x / (width - gutter) * (view.to - view.from);
            view.from += by;
            view.to += by;
            view.top += y;
            limit();
            refresh();
        };
        const whole = () => {
            view.from = begin;
            view.to = begin + span;
            limit();
            refresh();
        };
        const step = by => {
            if (!chosen) return rows.length && choose([rows[0], Math.min(above(rows[0].reach, view.from), rows[0].n - 1)]);
            const [row, i] = chosen, next = [row, Math.min(Math.max(i + by, 0), row.n - 1)];
            show(next);
            choose(next);
        };
        const beside = by => {
            if (!chosen) return pan(0, by * 3 * rowHeight);
            const row = rows[Math.min(Math.max(rows.indexOf(chosen[0]) + by, 0), rows.length - 1)];
            const next = [row, Math.min(above(row.reach, chosen[0].start[chosen[1]]), row.n - 1)];
            show(next);
            choose(next);
        };
        const keys = {
            ArrowLeft: () => pan(-60, 0), ArrowRight: () => pan(60, 0), ArrowUp: () => beside(-1), ArrowDown: () => beside(1),
            '+': () => zoom(0.7), '=': () => zoom(0.7), '-': () => zoom(1 / 0.7), 0: whole, Home: whole,
            ',': () => step(-1), '.': () => step(1), Escape: () => choose(null)
        };
        canvas.onkeydown = event => {
            if (!keys[event.key] || event.ctrlKey || event.metaKey || event.altKey) return;
            keys[event.key]();
            event.preventDefault();
        };
        const spot = event => {
            const area = canvas.getBoundingClientRect();
            return [event.clientX - area.left, event.clientY - area.top];
        };
        canvas.addEventListener('wheel', event => {
            if (!event.ctrlKey && !event.metaKey && document.activeElement !== canvas && Math.abs(event.deltaX) <= Math.abs(event.deltaY)) return;
            event.preventDefault();
            if (Math.abs(event.deltaX) > Math.abs(event.deltaY)) pan(event.deltaX, 0);
            else zoom(Math.exp(Math.min(Math.max(event.deltaY, -120), 120) / 300), spot(event)[0]);
        }, {passive: false});
        const fingers = new Map();
        let moved = 0;
        canvas.onpointerdown = event => {
            canvas.setPointerCapture(event.pointerId);
            fingers.set(event.pointerId, spot(event));
            moved = 0;
        };
        canvas.onpointermove = event => {
            const [x, y] = spot(event), before = fingers.get(event.pointerId);
            cursor = x < gutter ? null : nsOf(x);
            if (!before) return point(at(x, y), x, y);
            const other = [...fingers].find(([id]) => id !== event.pointerId);
            if (other) zoom(Math.abs(before[0] - other[1][0]) / Math.max(Math.abs(x - other[1][0]), 1), (x + other[1][0]) / 2);
            else pan(before[0] - x, before[1] - y);
            moved += Math.abs(x - before[0]) + Math.abs(y - before[1]);
            fingers.set(event.pointerId, [x, y]);
            return undefined;
        };
        canvas.onpointerup = event => {
            fingers.delete(event.pointerId);
            if (moved < 4) choose(at(...spot(event)));
        };
        canvas.onpointercancel = event => fingers.delete(event.pointerId);
        canvas.onpointerleave = () => {
            cursor = null;
            point(null);
        };
        canvas.ondblclick = event => zoom(0.3, spot(event)[0]);

        // ---- search ----

        const search = () => {
            const text = find.value.trim().toLowerCase();
            hits = text ? Uint8Array.from(names, name => name.some(part => typeof part === 'string' && part.toLowerCase().includes(text))) : null;
            let count = 0;
            for (const row of rows) for (let i = 0; hits && i < row.n; i++) count += hits[row.id[i]];
            found.textContent = hits ? `${count} operation${count === 1 ? '' : 's'}` : '';
            refresh();
        };
        // The next one in time after what is chosen, on any row.
        const next = () => {
            const after = chosen ? chosen[0].start[chosen[1]] : -Infinity, from = chosen ? rows.indexOf(chosen[0]) : -1;
            let best = null, wrapped = null;
            const sooner = (a, b) => !b || a[0].start[a[1]] < b[0].start[b[1]];
            rows.forEach((row, nth) => {
                for (let i = 0; hits && i < row.n; i++) {
                    if (!hits[row.id[i]]) continue;
                    if (sooner([row, i], wrapped)) wrapped = [row, i];
                    if ((row.start[i] > after || (row.start[i] === after && nth > from)) && sooner([row, i], best)) best = [row, i];
                }
            });
            if (!(best || wrapped)) return;
            show(best || wrapped);
            choose(best || wrapped);
        };
        find.oninput = search;
        find.onkeydown = event => {
            if (event.key === 'Enter') next();
            if (event.key === 'Escape') find.value = '', search(), canvas.focus();
        };
        const actions = {in: () => zoom(0.5), out: () => zoom(2), all: whole};
        all(box, '[data-do]').forEach(item => { item.onclick = actions[item.dataset.do]; });
        addEventListener('keydown', event => {
            if (event.key !== '/' || /INPUT|TEXTAREA/.test(event.target.tagName)) return;
            find.focus();
            event.preventDefault();
        });

        repaint.push(() => {
            colours();
            refresh();
        });
        new ResizeObserver(() => requestAnimationFrame(() => {
            if (box.clientWidth === width) return;
            resize();
            draw();
        })).observe(box);
        colours();
        choose(null);
        resize();
        draw();
        // For tests.
        canvas.timeline = {view, draw, rows, at, xOf, yOf, twinOf, panels, state: () => ({hover, chosen, hits, cursor})};
    };

    setTheme(stored('specter-theme'));
    all(document, '.wide').forEach(addTools);
    all(document, '.timeline').forEach(timeline);
    reveal();
})();
