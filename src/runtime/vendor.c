/* The libraries that a plan or a compilation uses, opened when first asked for. */
#include "runtime/vendor.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/fail.h"

/* Its place in the table; -1: this program does not know it. */
static int
place_of(const char *name)
{
	for (int i = 0; i < VENDORS_MOST && vendor_libraries[i]; i++)
		if (strcmp(vendor_libraries[i]->name, name) == 0)
			return i;
	return -1;
}

Vendor *
vendors_find(const Vendors *vendors, const char *name)
{
	int place = place_of(name);
	return place < 0 ? NULL : vendors->open[place];
}

Vendor *
vendors_open(Vendors *vendors, const char *name, char *error, size_t error_size)
{
	int place = place_of(name);
	if (place < 0) {
		refuse_with(error, error_size, "this program knows no vendor library '%.40s'", name);
		return NULL;
	}
	if (!vendors->is_tried[place])
		vendors->open[place] = vendor_libraries[place]->open(error, error_size);
	vendors->is_tried[place] = true;
	return vendors->open[place];
}

Vendor *
vendors_open_to_run(Vendors *vendors, const char *name, bool is_enqueued, char *error,
                    size_t error_size)
{
	int place = place_of(name);
	const VendorLibrary *library = place < 0 ? NULL : vendor_libraries[place];
	bool is_made = library && (is_enqueued ? library->enqueue != NULL : library->run != NULL);
	if (library && !is_made && !vendors->is_tried[place]) {
		refuse_with(error, error_size, "calls of %s are not made on this device", name);
		vendors->is_tried[place] = true;
	}
	return vendors_open(vendors, name, error, error_size);
}

void
vendors_close(Vendors *vendors)
{
	for (int i = 0; i < VENDORS_MOST; i++)
		if (vendors->open[i])
			vendors->open[i]->library->close(vendors->open[i]);
	*vendors = (Vendors){.is_tried = {false}};
}

const char *
vendors_text(const Vendors *vendors, char *text, size_t size)
{
	size_t used = 0;
	text[0] = 0;
	for (int i = 0; i < VENDORS_MOST; i++)
		if (vendors->open[i] && used < size)
			used += (size_t)snprintf(text + used, size - used, "%s%s", used ? ", " : "",
			                         vendors->open[i]->version);
	return text;
}

void
vendors_use_weights(const Vendors *vendors, Weights *weights)
{
	for (int i = 0; i < VENDORS_MOST; i++)
		if (vendors->open[i] && vendors->open[i]->library->use_weights)
			vendors->open[i]->library->use_weights(vendors->open[i], weights);
}

void
vendors_use_memory(const Vendors *vendors, const Memory *memory)
{
	for (int i = 0; i < VENDORS_MOST; i++)
		if (vendors->open[i] && vendors->open[i]->library->use_memory)
			vendors->open[i]->library->use_memory(vendors->open[i], memory);
}

/* Appends them; `forms` NULL: counts them. */
static size_t
list_forms(const Vendors *vendors, PackedForm *forms)
{
	size_t count = 0;
	for (int i = 0; i < VENDORS_MOST; i++)
		if (vendors->open[i] && vendors->open[i]->library->packed)
			count +=
				vendors->open[i]->library->packed(vendors->open[i], forms ? forms + count : NULL);
	return count;
}

PackedForm *
vendors_packed(const Vendors *vendors, size_t *count)
{
	*count = list_forms(vendors, NULL);
	PackedForm *forms = *count ? calloc(*count, sizeof *forms) : NULL;
	if (forms)
		list_forms(vendors, forms);
	return forms;
}
