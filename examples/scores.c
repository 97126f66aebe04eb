#include <stdio.h>
#include <tilewright.h>

static float image[3 * 224 * 224];

int
main(void)
{
	TwError error;
	TwBundle *bundle;
	TwSession *session;
	TwTensor scores;
	const int64_t dims[] = {1, 3, 224, 224};
	if (tw_open("resnet18.twb", NULL, &bundle, &error) ||
	    tw_session_new(bundle, NULL, &session, &error) ||
	    tw_bind_input(session, 0, image, sizeof image, 4, dims, &error) ||
	    tw_run(session, &error) || tw_get_output(session, 0, &scores, &error))
		return fprintf(stderr, "%s\n", error.text), 1;
	printf("%g\n", ((const float *)scores.data)[0]);
	tw_session_free(session);
	tw_close(bundle);
}
