// See CMemory.h.
#define _GNU_SOURCE
#include "CMemory.h"

#include <fcntl.h>
#include <link.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

// Reads `size` bytes at `offset` into memory of their own; NULL if there are not so many.
static void *read_part(int file, size_t size, off_t offset) {
  void *part = malloc(size);
  if (part && pread(file, part, size, offset) == (ssize_t)size) return part;
  free(part);
  return NULL;
}

// The section of constants in the file of a program; its size is 0 if there is none.
static ElfW(Shdr) constants(int file) {
  ElfW(Shdr) found = {0};
  ElfW(Ehdr) header;
  if (pread(file, &header, sizeof header, 0) != sizeof header || memcmp(header.e_ident, ELFMAG, SELFMAG) ||
      header.e_shentsize != sizeof found || header.e_shstrndx >= header.e_shnum)
    return found;
  ElfW(Shdr) *sections = read_part(file, header.e_shnum * sizeof *sections, header.e_shoff);
  if (!sections) return found;
  ElfW(Shdr) names = sections[header.e_shstrndx];
  char *name = read_part(file, names.sh_size, names.sh_offset);
  for (int i = 0; name && i < header.e_shnum; i++) {
    size_t at = sections[i].sh_name;
    if (at + sizeof ".rodata" <= names.sh_size && !memcmp(name + at, ".rodata", sizeof ".rodata")) found = sections[i];
  }
  free(name);
  free(sections);
  return found;
}

// The program is the first of the loaded objects.
static int load_address(struct dl_phdr_info *object, size_t size, void *address) {
  (void)size;
  *(ElfW(Addr) *)address = object->dlpi_addr;
  return 1;
}

void glp_memory_protect_constants(void) {
  int file = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
  if (file < 0) return;
  ElfW(Shdr) section = constants(file);
  close(file);
  ElfW(Addr) base = 0, page = sysconf(_SC_PAGESIZE);
  dl_iterate_phdr(load_address, &base);
  // Pages that hold nothing else.
  ElfW(Addr) start = (base + section.sh_addr + page - 1) / page * page, end = (base + section.sh_addr + section.sh_size) / page * page;
  if (section.sh_flags & SHF_WRITE && start < end) mprotect((void *)start, end - start, PROT_READ);
}
