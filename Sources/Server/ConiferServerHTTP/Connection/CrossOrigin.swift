#if Network
  import NIOHTTP1

  /// What lets pages of other origins ask: tools in a browser (the Fetch standard, "CORS protocol").
  enum CrossOrigin {
    private static let methods = "GET, PUT, PATCH, POST, DELETE, HEAD, OPTIONS"

    /// The answer to `OPTIONS`, also to a browser's question before a request.
    static func preflight(_ request: HTTPHeaders) -> HTTPResponse {
      var headers = [("allow", methods), ("cache-control", "no-store")]
      if request.contains(name: "access-control-request-method") {
        headers.append(("access-control-allow-methods", methods))
        if let asked = request.first(name: "access-control-request-headers") {
          headers.append(("access-control-allow-headers", asked))
        }
        headers.append(("access-control-max-age", "3600"))
        if request.first(name: "access-control-request-private-network") == "true" {
          headers.append(("access-control-allow-private-network", "true"))
        }
      }
      return HTTPResponse(status: 204, headers: headers)
    }

    /// Adds what an answer needs to be read by the page that asked.
    ///
    /// - Parameters:
    ///   - headers: the answer's.
    ///   - request: the request's; nil when it was not understood.
    ///   - origins: which may ask.
    static func add(
      to headers: inout HTTPHeaders, for request: HTTPHeaders?, _ origins: OriginPolicy
    ) {
      if origins.varies { headers.add(name: "vary", value: "origin") }
      guard let request, let origin = request.first(name: "origin"),
        origins.allows(OriginPolicy.Question(request))
      else { return }
      headers.add(name: "access-control-allow-origin", value: origins.shared(with: origin))
      headers.add(name: "access-control-expose-headers", value: "etag, location")
    }
  }

  extension OriginPolicy.Question {
    init(_ headers: HTTPHeaders) {
      self.init(
        origin: headers.first(name: "origin"), host: headers.first(name: "host"),
        site: headers.first(name: "sec-fetch-site"), mode: headers.first(name: "sec-fetch-mode"))
    }
  }
#endif
