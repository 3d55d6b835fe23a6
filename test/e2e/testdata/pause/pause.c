/* The program of the sandbox image: it sleeps until it is killed. As process 1 it must ask for signals to get them. With an
   argument it ends at once: a job that is done. */
#include <signal.h>
#include <unistd.h>

static void leave(int sig) {
	(void)sig;
	_exit(0);
}

int main(int argc, char **argv) {
	(void)argv;
	if (argc > 1)
		return 0;
	signal(SIGTERM, leave);
	signal(SIGINT, leave);
	for (;;)
		pause();
}
