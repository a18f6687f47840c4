import Testing

@testable import ConiferStorage

#if canImport(Darwin)
  import Darwin
#elseif canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#endif

/// When a sync to the medium itself may be replaced by one that stops at the drive's buffer.
@Suite struct FullSyncTests {
  @Test(arguments: [0, EIO, ENOSPC, EINTR, EBADF, EAGAIN, ENXIO])
  func `A full sync that fails is a failure`(_ number: Int32) {
    var plain = 0
    let result = Platform.sync(fully: { number }) {
      plain += 1
      return 0
    }
    #expect(result == number && plain == 0)
  }

  @Test(arguments: [ENOTSUP, EINVAL], [0, EIO])
  func `A volume that does not know the full sync is synced plainly`(
    _ number: Int32, _ answer: Int32
  ) {
    #expect(Platform.sync(fully: { number }) { answer } == answer)
  }
}
