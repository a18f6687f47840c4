import ConiferServer
import Testing

@testable import ConiferServerHTTP

@Suite struct PageDocumentTests {
  private func page() async throws -> HTTPResponse {
    try await PageResponder(Server()).answer(pageRequest("/", headers: [("host", "localhost")]))
  }

  @Test func `The page is small, loads nothing, and builds no markup of data`() async throws {
    let response = try await page()
    #expect(response.status == 200)
    #expect(response.header("content-type") == "text/html; charset=utf-8")
    #expect(response.text.utf8.count < 80 * 1024)
    #expect(response.text.hasPrefix("<!DOCTYPE html>"))
    for word in [
      "innerHTML", "outerHTML", "insertAdjacentHTML", "document.write", "eval(", "new Function",
      "DOMParser", "https:", "@import", "javascript:", " style=\"", " onclick=\"",
    ] {
      #expect(!response.text.contains(word), "\(word)")
    }
    // The icon's and the chart's vocabulary is no address that is loaded.
    #expect(
      response.text.split(separator: "http://").dropFirst().allSatisfy {
        $0.hasPrefix("www.w3.org/2000/svg")
      })
    #expect(!response.text.contains("<script src") && !response.text.contains("<link rel=\"style"))
    #expect(response.text.contains("prefers-color-scheme: dark"))
  }

  @Test func `Only what the page brings along runs in it`() async throws {
    let (first, second) = (try await page(), try await page())
    let policy = try #require(first.header("content-security-policy"))
    #expect(policy.contains("default-src 'none'") && policy.contains("frame-ancestors 'none'"))
    #expect(!policy.contains("unsafe"))
    let nonce = try #require(
      policy.split(separator: "script-src 'nonce-").last?.split(separator: "'").first)
    #expect(nonce.utf8.count >= 20)
    #expect(first.text.split(separator: "nonce=\"\(nonce)\"").count == 3)
    #expect(second.header("content-security-policy") != policy)
    for (name, value) in [
      ("x-content-type-options", "nosniff"), ("x-frame-options", "DENY"),
      ("cache-control", "no-store"), ("cross-origin-resource-policy", "same-origin"),
      ("referrer-policy", "no-referrer"),
    ] {
      #expect(first.header(name) == value)
    }
  }

  @Test func `Other paths are left to others, other methods refused`() async throws {
    let responder = PageResponder(Server())
    for path in ["/a.json", "/.json", "/.settings/rules.json", "/.ws", "/.coniferx", "//"] {
      #expect(await responder.respond(to: pageRequest(path)) == nil)
    }
    let refused = try await responder.answer(pageRequest("/", method: "POST"))
    #expect(refused.status == 405 && refused.header("allow") == "GET, HEAD")
    let get = try await responder.answer(pageRequest("/.conifer/windows.json"))
    #expect(get.status == 405 && get.header("allow") == "POST")
    let put = try await responder.answer(pageRequest("/.conifer/info.json", method: "PUT"))
    #expect(put.status == 405)
    #expect(try await responder.answer(pageRequest("/.conifer/none.json")).status == 404)
    let head = try await responder.answer(pageRequest("/", method: "HEAD"))
    #expect(head.status == 200 && head.text.isEmpty)
  }
}
