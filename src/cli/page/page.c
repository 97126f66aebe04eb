/* The file: style, data, script. */
#include "cli/page/page.h"

#include <string.h>

extern const char *const page_style[], *const page_script[];

/* JSON in which no character means anything to HTML: in JSON these stand in texts alone, where an
 * escape is the same character. U+2028 and U+2029 end lines of scripts. */
static void
write_data(Buf *html, const char *json)
{
	for (const char *c = json; *c; c++) {
		bool is_end_of_line =
			strncmp(c, "\xe2\x80\xa8", 3) == 0 || strncmp(c, "\xe2\x80\xa9", 3) == 0;
		if (*c == '<' || *c == '>' || *c == '&')
			buf_printf(html, "\\u%04x", (unsigned)*c);
		else if (is_end_of_line)
			buf_puts(html, c[2] == '\xa8' ? "\\u2028" : "\\u2029");
		else
			buf_putc(html, *c);
		c += is_end_of_line ? 2 : 0;
	}
}

static void
write_lines(Buf *html, const char *const *lines)
{
	for (; *lines; lines++)
		buf_puts(html, *lines);
}

void
page_write(Buf *html, const char *json)
{
	buf_puts(html, "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
	               "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; "
	               "style-src 'unsafe-inline'; script-src 'unsafe-inline'\">\n"
	               "<meta name=\"viewport\" content=\"width=device-width\">\n"
	               "<title>Tilewright report</title>\n<style>\n");
	write_lines(html, page_style);
	buf_puts(html, "</style>\n</head>\n<body>\n"
	               "<noscript>This page is drawn by its script.</noscript>\n"
	               "<script type=\"application/json\" id=\"data\">\n");
	write_data(html, json);
	buf_puts(html, "\n</script>\n<script>\n");
	write_lines(html, page_script);
	buf_puts(html, "</script>\n</body>\n</html>\n");
}
