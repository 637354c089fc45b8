// moves N A B: while the program starts itself, another thread of the process moves from A to B and back
#define _GNU_SOURCE
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
static char a[4096],b[4096],self[4096];
static void*t(void*x){for(;;){chdir(a);usleep(60);chdir(b);usleep(60);}}
int main(int c,char**v){char at[4096];
 if(c==2){if(strstr(getcwd(at,4096),"secret"))puts("EVADED");return 0;}
 realpath(v[2],a);realpath(v[3],b);readlink("/proc/self/exe",self,4095);
 for(int i=0;i<atoi(v[1]);i++){if(!fork()){pthread_t p;chdir(a);pthread_create(&p,0,t,0);usleep(200+i%7*30);execl(self,"moves","in",(char*)0);_exit(1);}wait(0);}
 puts("moves: tried");}
