#define _GNU_SOURCE
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
#include <fcntl.h>
#include <sys/wait.h>
int main(int c,char**v){int ev=0;for(int r=0;r<20;r++){pid_t p[10];for(int i=0;i<10;i++)if(!(p[i]=fork())){dup2(open("/dev/null",1),1);dup2(1,2);execl("./argecho","argecho","push",(char*)0);_exit(99);}
 if(r==10)kill(getppid(),9);for(int i=0;i<10;i++){int s;waitpid(p[i],&s,0);if(WIFEXITED(s)&&WEXITSTATUS(s)==42)ev++;}}
 FILE*f=fopen("midkill.out","a");fprintf(f,"evaded %d of 200\n",ev);fclose(f);}
