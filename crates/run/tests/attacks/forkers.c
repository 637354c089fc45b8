// four processes that fork and exit without a pause, each in a session of its own, deaf to signals; the command itself ends at once
#define _GNU_SOURCE
#include <signal.h>
#include <unistd.h>
int main(){for(int i=0;i<4;i++)if(!fork()){setsid();for(int s=1;s<32;s++)signal(s,SIG_IGN);close(0);close(1);close(2);for(;;){if(fork()>0)_exit(0);}}usleep(20000);return 5;}
