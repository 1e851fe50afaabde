/* Binds names that newer C libraries have in a new version to the oldest one,
   so that one libinturn serves all from glibc 2.17 on. */
#ifdef __x86_64__
#define OLDEST "2.2.5"
#else
#define OLDEST "2.17"
#endif
#define USE(name, version) __asm__(".symver " #name "," #name "@GLIBC_" version)

USE(pthread_create, OLDEST);
USE(pthread_detach, OLDEST);
USE(pthread_key_create, OLDEST);
#ifdef __x86_64__
USE(pthread_setname_np, "2.12");
#else
USE(pthread_setname_np, OLDEST);
#endif
USE(pthread_setspecific, OLDEST);
USE(pthread_sigmask, OLDEST);

#undef USE
#undef OLDEST
