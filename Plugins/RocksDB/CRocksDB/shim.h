#include <rocksdb/c.h>
#include <stddef.h>
#include <stdint.h>

/* CRC-32C, which RocksDB's logs use and its C interface does not offer; four bits at a time. */
static inline uint32_t conifer_crc32c(uint32_t crc, const void *bytes, size_t count) {
  static const uint32_t table[16] = {
      0x00000000, 0x105EC76F, 0x20BD8EDE, 0x30E349B1, 0x417B1DBC, 0x5125DAD3,
      0x61C69362, 0x7198540D, 0x82F63B78, 0x92A8FC17, 0xA24BB5A6, 0xB21572C9,
      0xC38D26C4, 0xD3D3E1AB, 0xE330A81A, 0xF36E6F75};
  const unsigned char *at = (const unsigned char *)bytes;
  crc = ~crc;
  while (count-- > 0) {
    crc ^= *at++;
    crc = table[crc & 15] ^ (crc >> 4);
    crc = table[crc & 15] ^ (crc >> 4);
  }
  return ~crc;
}
