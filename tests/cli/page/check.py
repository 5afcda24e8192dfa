# SPDX-License-Identifier: MIT
"""check.py KIND PAGE: opens a page in a browser and uses it; prints what holds. KIND: analyze, replay, compare."""
import sys

from devtools import Browser

kind, path = sys.argv[1:3]


def check(what, holds):
    print(what if holds else f"NOT: {what}")


def theme_works(page):
    colour = "getComputedStyle(document.body).backgroundColor"
    light = page.run(colour)
    page.run("document.getElementById('theme').click()")
    dark = page.run(colour)
    page.run("document.getElementById('theme').click()")
    again = page.run(colour)
    page.run("localStorage.clear()")
    return light != dark and again == light


def has_tables(page):
    """Sorts a column of the longest table both ways, filters it, and copies it."""
    page.run("""window.longest = [...document.querySelectorAll('table')].filter(t => t.closest('.wide'))
        .reduce((a, b) => (b.rows.length > a.rows.length ? b : a));
        for (let at = longest; at; at = at.parentElement) if (at.tagName === 'DETAILS') at.open = true;
        window.column = [...longest.tHead.rows[0].cells].findIndex(th => th.className !== 'left');
        window.values = () => [...longest.tBodies[0].rows].map(r => r.cells[column])
            .map(c => +(c.dataset.v ?? parseFloat(c.textContent))).filter(v => !Number.isNaN(v)); 0""")
    down = "values().every((v, i, all) => i === 0 || all[i - 1] >= v)"
    up = "values().every((v, i, all) => i === 0 || all[i - 1] <= v)"
    press = "longest.tHead.rows[0].cells[column].querySelector('button').click()"
    page.run(press)
    first = page.run(down + " && longest.tHead.rows[0].cells[column].getAttribute('aria-sort') === 'descending'")
    page.run(press)
    check("tables are sorted by a column, in both directions", first and page.run(up))
    page.run("""window.shown = () => [...longest.tBodies[0].rows].filter(r => !r.hidden).length;
        window.filter = longest.closest('.wide').previousElementSibling.querySelector('input');
        window.word = longest.tBodies[0].rows[0].cells[0].textContent; window.before = shown(); 0""")
    page.run("filter.value = 'nothing reads like this'; filter.oninput(); 0")
    none = page.run("shown()")
    page.run("filter.value = word; filter.oninput(); 0")
    check("tables are filtered", none == 0 and 0 < page.run("shown()") <= page.run("before"))
    page.run("filter.value = ''; filter.oninput(); window.copied = ''; "
             "Object.defineProperty(navigator, 'clipboard', {value: {writeText: async t => { copied = t; }}}); 0")
    page.run("longest.closest('.wide').previousElementSibling.querySelector('button').click()")
    lines = page.run("copied").splitlines()
    columns = page.run("longest.tHead.rows[0].cells.length")
    check("tables are copied as CSV", len(lines) == page.run("before") + 1 and lines[0].count(",") == columns - 1)
    check("links open the group of their table", page.run("""(() => {
        const link = document.querySelector('.findings a[href^="#t-"], .cards a[href^="#t-"]');
        if (!link) return true;
        document.querySelectorAll('.group').forEach(group => { group.open = false; });
        link.click();
        return new Promise(done => setTimeout(() => done(document.querySelector(link.getAttribute('href')).closest('details').open), 200));
    })()"""))


def has_timeline(page):
    view = "document.querySelector('canvas').timeline"
    page.run("document.querySelector('canvas').focus(); 0")
    page.key("0")
    page.run("document.querySelector('.timeline').scrollIntoView({block: 'center'}); 0")
    page.frame()
    area = page.run("(({left, top, width, height}) => ({left, top, width, height}))(document.querySelector('canvas').getBoundingClientRect())")
    # A place that is on an operation: the middle of the longest one, preferring one with members.
    page.run(f"""window.t = {view}; window.long = (() => {{ let best = null, size = -1;
        const floor = document.querySelector('canvas').clientHeight - 20;
        for (const row of t.rows) for (let i = 0; i < row.n && t.yOf(row) < floor; i++) {{
            const s = row.end[i] - row.start[i] + (row.link[i] >= 0 ? 1e15 : 0);
            if (s > size) best = [row, i], size = s; }} return best; }})();
        window.span = () => t.view.to - t.view.from; 0""")
    x = area["left"] + page.run("(t.xOf(Math.max(long[0].start[long[1]], t.view.from)) + t.xOf(long[0].end[long[1]])) / 2")
    y = area["top"] + page.run("t.yOf(long[0]) + 4")
    check("the canvas has something drawn", page.run("""(() => { const c = document.querySelector('canvas');
        const d = c.getContext('2d').getImageData(0, 0, c.width, c.height).data, seen = new Set();
        for (let i = 0; i < d.length; i += 4) if (d[i + 3] > 200) seen.add(d[i] >> 4 << 8 | d[i + 1] >> 4 << 4 | d[i + 2] >> 4);
        return seen.size; })()""") > 4)
    page.move(x, y)
    tip = page.run("document.querySelector('.tip').textContent")
    check("pointing names an operation, with rank, stream and times", "rank " in tip and "stream" in tip and " from " in tip)
    members = "target: " in tip or "source: " in tip if kind == "replay" else "members; last to come" in tip
    if page.run("t.rows.reduce((n, row) => n + row.link.filter(l => l >= 0 && l === long[0].link[long[1]]).length, 0) > 1"):
        check("and what belongs to it on other rows", members)
    page.click(x, y)
    check("a click keeps it", page.run("document.querySelector('.about').textContent.includes('rank ')"))
    whole = page.run("span()")
    page.wheel(x, y, -200)
    zoomed = page.run("span()")
    check("the wheel zooms", zoomed < whole)
    before = page.run("t.view.from")
    page.drag(x, y, x + 80, y)
    check("dragging moves", page.run("t.view.from") != before)
    page.run("document.querySelector('canvas').focus(); 0")
    page.key("0")
    all_again = abs(page.run("span()") / whole - 1) < 0.05
    page.key("+")
    check("keys zoom and show all", all_again and page.run("span()") < whole)
    before = page.run("t.view.from")
    page.key("ArrowRight")
    check("arrows move", page.run("t.view.from") > before)
    page.key("0")
    chosen = "(({chosen: [row, i]}) => `${t.rows.indexOf(row)} ${i}`)(t.state())"
    before = page.run(chosen)
    page.key(".")
    other = page.run(chosen)
    page.key(",")
    check("comma and full stop go from operation to operation", other != before and page.run(chosen) == before)
    page.key("/")
    title = tip.splitlines()[0].split("(")[0][:24]
    page.type(title)
    found = page.run("document.querySelector('.found').textContent")
    page.key("Enter")
    check("search counts and goes to what it finds", found.split()[0].isdigit() and int(found.split()[0]) > 0 and
          title.lower() in page.run("document.querySelector('.about').textContent").lower())
    page.key("Escape")
    check("and ends", page.run("t.state().hits === null && document.activeElement.tagName === 'CANVAS'"))


def has_two_sides(page):
    """Base above test: one scale, both steps from 0 on, one pointer, and the same operation of both."""
    page.run("""window.canvas = document.querySelector('canvas'); window.t = canvas.timeline; [window.base, window.test] = t.panels;
        canvas.scrollIntoView({block: 'center'}); 0""")
    page.frame()
    check("the base is above the test", page.run("t.panels.length === 2 && base.rows.length > 0 && test.rows.length > 0 "
          "&& base.y + base.height <= test.y && t.rows.every(row => t.yOf(row) >= row.panel.y || row.nth > 0)"))
    check("both steps are all that is seen at first", page.run(
        "(longest => t.view.from <= 0 && t.view.to >= longest && t.view.to - t.view.from < 1.1 * longest)(Math.max(base.step, test.step))"))
    check("a step's first operation is where the step begins", page.run(
        "t.rows.every(row => row.start[row.first] > -0.1 * row.panel.step && (row.first === 0 || row.start[row.first - 1] < 0.1 * row.panel.step))"))
    page.run("""window.of = [0, 1, 2].map(n => base.rows[0].first + n).map(i => [base.rows[0], i]);
        window.area = canvas.getBoundingClientRect();
        window.copy = new OffscreenCanvas(canvas.width, canvas.height).getContext('2d', {willReadFrequently: true});
        window.ends = () => t.panels.map(p => [...copy.getImageData(Math.round(t.xOf(middle)), Math.round(p.y + p.height - 2), 1, 1).data]);
        window.middle = (of[1][0].start[of[1][1]] + of[1][0].end[of[1][1]]) / 2; 0""")
    before = page.run("copy.drawImage(canvas, 0, 0); ends()")
    page.move(page.run("area.left + t.xOf(middle)"), page.run("area.top + t.yOf(of[1][0]) + 4"))
    after = page.run("copy.drawImage(canvas, 0, 0); ends()")
    check("the pointer is seen on both sides", all(a != b for a, b in zip(before, after)))
    check("the same operation of both is told", "times as long" in page.run("document.querySelector('.tip').textContent"))
    check("it is that of the step", page.run(
        "of.every(at => (twin => twin && twin[0].panel === test && twin[1] - twin[0].first === at[1] - at[0].first)(t.twinOf(at)))"))


def numbers_of(page):
    """Digits of all text but the script's own labels."""
    return page.run("[...document.querySelectorAll('h1, .card, .parts, .findings, tbody, figure, .bars, .stack')]"
                    ".map(e => e.textContent).join(' ').match(/[0-9.]+/g).sort().join(' ')")


with Browser() as browser:
    page = browser.open(path)
    check("the script runs", page.run("document.documentElement.classList.contains('scripted')"))
    numbers = numbers_of(page)
    check("light and dark can be switched", theme_works(page))
    has_tables(page)
    if page.run("document.querySelector('canvas') !== null"):
        if kind == "compare":
            has_two_sides(page)
        has_timeline(page)
    check("the page is as wide as the window", page.run("document.documentElement.scrollWidth <= innerWidth"))
    messages, requests = page.messages, page.requests
    for options in ({"width": 390, "height": 844, "mobile": True}, {"dark": True}):
        page = browser.open(path, **options)
        if "width" in options:
            check("nothing scrolls sideways at 390 pixels", page.run("document.documentElement.scrollWidth") <= 390)
            check("names of parts stay in one line", page.run(
                "[...document.querySelectorAll('.parts td:first-child')].every(cell => cell.firstChild.length * 5 < cell.clientWidth)"))
        else:
            check("dark as the browser asks for it", page.run("getComputedStyle(document.body).backgroundColor") != "rgb(255, 255, 255)")
        messages, requests = messages + page.messages, requests + page.requests
    page = browser.open(path, script=False)
    check("without the script all numbers are there", numbers_of(page) == numbers)
    check("no console message", not messages + page.messages)
    check("no request", not requests + page.requests)
    for line in messages + page.messages + requests + page.requests:
        print("  ", line)
