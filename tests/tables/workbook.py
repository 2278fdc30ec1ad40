"""A workbook as Excel writes it, without Excel."""

import datetime
import io
import zipfile
from xml.sax.saxutils import escape

_MAIN = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
_OFFICE = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
_PACKAGE = "http://schemas.openxmlformats.org/package/2006"


def _cell(value):
    if value is None:
        return "<c/>"
    if isinstance(value, bool):
        return f'<c t="b"><v>{int(value)}</v></c>'
    if isinstance(value, datetime.date):
        return f'<c s="1"><v>{(value - datetime.date(1899, 12, 30)).days}</v></c>'
    if isinstance(value, int | float):
        return f"<c><v>{value}</v></c>"
    return f'<c t="inlineStr"><is><t xml:space="preserve">{escape(value)}</t></is></c>'


def workbook(*sheets):
    """The bytes of a workbook; a sheet is a list of rows."""
    files = {
        "[Content_Types].xml": f'<Types xmlns="{_PACKAGE}/content-types"/>',
        "_rels/.rels": _relations([("r", "officeDocument", "xl/workbook.xml")]),
        "xl/workbook.xml": f'<workbook xmlns="{_MAIN}" xmlns:r="{_OFFICE}"><sheets>'
        + "".join(f'<sheet name="S{at}" sheetId="{at + 1}" r:id="r{at}"/>' for at in range(len(sheets)))
        + "</sheets></workbook>",
        "xl/_rels/workbook.xml.rels": _relations(
            [("st", "styles", "styles.xml")]
            + [(f"r{at}", "worksheet", f"worksheets/s{at}.xml") for at in range(len(sheets))]
        ),
        "xl/styles.xml": f'<styleSheet xmlns="{_MAIN}"><cellXfs>'
        '<xf numFmtId="0"/><xf numFmtId="14"/></cellXfs></styleSheet>',
    }
    for at, rows in enumerate(sheets):
        cells = "".join(f"<row>{''.join(map(_cell, row))}</row>" for row in rows)
        files[f"xl/worksheets/s{at}.xml"] = (
            f'<worksheet xmlns="{_MAIN}"><sheetData>{cells}</sheetData></worksheet>'
        )
    target = io.BytesIO()
    with zipfile.ZipFile(target, "w") as file:
        for name, text in files.items():
            file.writestr(name, text)
    return target.getvalue()


def _relations(parts):
    lines = "".join(
        f'<Relationship Id="{key}" Type="{_OFFICE}/{kind}" Target="{to}"/>' for key, kind, to in parts
    )
    return f'<Relationships xmlns="{_PACKAGE}/relationships">{lines}</Relationships>'
