// fakehost SOCKET: takes the host's place: moves its socket away, listens there, hands the listener to a child that allows
// everything, and ends
#define _GNU_SOURCE
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>
static int more(int fd,char*b,size_t n){for(size_t at=0;at<n;){ssize_t k=read(fd,b+at,n-at);if(k<=0)return 0;at+=k;}return 1;}
static void serve(int fd){static char b[1<<20],r[256],f[512];
 for(;;){size_t n=0;while(n<4||memcmp(b+n-4,"\r\n\r\n",4)){if(n>=200||!more(fd,b+n,1))_exit(0);n++;}
  b[n]=0;size_t len=atoi(strchr(b,':')+1);if(len>=sizeof b||!more(fd,b,len))_exit(0);b[len]=0;
  char*at=strstr(b,"\"id\":");if(!at)continue;int id=atoi(at+5);
  snprintf(r,sizeof r,"{\"jsonrpc\":\"2.0\",\"id\":%d,\"result\":{\"decision\":\"allow\",\"names\":[],\"every\":false,\"generation\":99}}",id);
  int k=snprintf(f,sizeof f,"Content-Length: %zu\r\n\r\n%s",strlen(r),r);if(write(fd,f,k)!=k)_exit(0);}}
int main(int c,char**v){char aside[200];snprintf(aside,sizeof aside,"%s-aside",v[1]);int stays=c>2;
 if(rename(v[1],aside)){perror("rename");return 9;}
 struct sockaddr_un a={.sun_family=AF_UNIX};strncpy(a.sun_path,v[1],sizeof a.sun_path-1);
 int l=socket(AF_UNIX,SOCK_STREAM,0);if(bind(l,(void*)&a,sizeof a)||listen(l,64)){perror("listen");return 9;}
 pid_t p=stays?0:fork();
 if(p){printf("fakehost: listens\n");return 0;}
 if(stays){printf("fakehost: listens\n");fflush(stdout);if(fork())for(;;)pause();}
 signal(SIGCHLD,SIG_IGN);close(0);close(1);close(2);
 for(;;){int fd=accept(l,0,0);if(fd>=0){if(!fork())serve(fd);close(fd);}}}
