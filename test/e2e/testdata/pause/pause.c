/* The program of the sandbox image: it sleeps until it is killed. As process 1 it must ask for signals to get them. */
#include <signal.h>
#include <unistd.h>

static void leave(int sig) {
	(void)sig;
	_exit(0);
}

int main(void) {
	signal(SIGTERM, leave);
	signal(SIGINT, leave);
	for (;;)
		pause();
}
